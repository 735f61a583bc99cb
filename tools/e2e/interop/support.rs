//! A namespace and the Java contenders of a test.

use std::ops::Deref;
use std::sync::OnceLock;
use std::time::Duration;

use zklock::{Client, Participant};

use crate::peer::{Actor, Peer};
use crate::shared;

pub(crate) use crate::shared::{SOON, soon, until, until_waiting_here};

/// The timeout of the session of the shared Java process, long enough for a busy machine.
const SESSION: Duration = Duration::from_secs(10);
/// The timeout of sessions that are killed: short, but longer than a short pause.
const SHORT_SESSION: Duration = Duration::from_secs(6);

/// A test's namespace on a shared server, and its contenders in a shared Java process.
pub(crate) struct Space(shared::Space);

impl Deref for Space {
    type Target = shared::Space;

    fn deref(&self) -> &shared::Space {
        &self.0
    }
}

impl Space {
    pub(crate) fn new() -> Self {
        Self(shared::Space::new())
    }

    pub(crate) fn connect_string(&self) -> &'static str {
        self.server().connect_string()
    }

    pub(crate) async fn client(&self, identity: &str) -> Client {
        let config = self.config().identity(identity).default_wait(SOON);
        config.connect().await.expect("the server accepts a client")
    }

    /// Returns the Java process that all tests on this server share.
    pub(crate) fn peer(&self) -> &'static Peer {
        static SHARED: OnceLock<Peer> = OnceLock::new();
        SHARED.get_or_init(|| Peer::start(self.connect_string(), SESSION))
    }

    pub(crate) fn mortal_peer(&self) -> Peer {
        Peer::start(self.connect_string(), SHORT_SESSION)
    }

    /// Creates a contender in the shared Java process, for one recipe at one path.
    pub(crate) async fn actor(&self, recipe: &str, path: &str) -> Actor {
        self.peer().actor(recipe, &self.full(path)).await
    }

    /// Returns the nodes of a queue in its order, as full paths.
    pub(crate) async fn queue(&self, path: &str) -> Vec<String> {
        let mut nodes = self.children(path).await;
        // A downgraded reader has its writer's number, and the writer's node is deleted soon.
        nodes.sort_by_key(|node| node[node.len() - 10..].to_owned());
        nodes.iter().map(|node| self.full(&format!("{path}/{node}"))).collect()
    }

    /// Waits until a session waits for the node at this place of the queue, and therefore watches it.
    pub(crate) async fn until_waits(&self, path: &str, session_id: Option<i64>, place: usize) {
        let session = session_id.expect("there is a session");
        let waits = async || {
            let queue = self.queue(path).await;
            queue.get(place).is_some_and(|node| self.server().watchers(node).contains(&session))
        };
        until(waits, "the waiter watches").await;
    }

    /// Returns the participants below a path as full paths with their identities, the form in which Java
    /// lists them.
    pub(crate) fn listed(&self, path: &str, participants: &[Participant]) -> Vec<(String, String)> {
        let listed = participants.iter().filter(|one| one.path == path);
        listed.map(|one| (self.full(&format!("{path}/{}", one.node)), one.identity.clone())).collect()
    }
}
