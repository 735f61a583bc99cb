//! The servers, a namespace and the Java contenders of a test.

#[path = "../it/support/server.rs"]
#[allow(dead_code, reason = "nothing here stops a server or counts its packets")]
mod server;

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::OnceCell;
use zklock::{Client, Config, Participant};
use zookeeper_client as zk;

use crate::peer::{Actor, Peer};

use server::server;
pub(crate) use server::{Kind, on_both_servers};

/// How long a test waits for a state that must come.
pub(crate) const SOON: Duration = Duration::from_secs(30);
/// The servers' tick: sessions end at multiples of it.
pub(crate) const TICK: Duration = Duration::from_millis(500);
/// Sessions of those who are not killed outlive a busy machine.
const SESSION: Duration = Duration::from_secs(10);
/// Sessions of those who are killed end soon, but outlive a short pause as well.
pub(crate) const SHORT_SESSION: Duration = Duration::from_secs(4);

/// A test's own part of a shared server, and of the Java process that its contenders share.
pub(crate) struct Space {
    kind: Kind,
    pub(crate) namespace: String,
    outsider: OnceCell<zk::Client>,
}

impl Space {
    pub(crate) fn new(kind: Kind) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/interop-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Self { kind, namespace, outsider: OnceCell::new() }
    }

    pub(crate) fn connect_string(&self) -> &'static str {
        server(self.kind).connect_string()
    }

    /// A session of zklock.
    pub(crate) async fn client(&self, identity: &str) -> Client {
        let config = Config::new(self.connect_string()).namespace(&self.namespace).identity(identity);
        let config = config.session_timeout(SESSION).tick_time(TICK).default_wait(SOON);
        config.connect().await.expect("the server accepts a client")
    }

    /// The Java process that all tests on this server share.
    pub(crate) fn peer(&self) -> &'static Peer {
        static EMBEDDED: OnceLock<Peer> = OnceLock::new();
        static REAL: OnceLock<Peer> = OnceLock::new();
        let shared = match self.kind {
            Kind::Embedded => &EMBEDDED,
            Kind::Real => &REAL,
        };
        shared.get_or_init(|| Peer::start(self.connect_string(), SESSION))
    }

    /// A Java process that the test may kill.
    pub(crate) fn mortal_peer(&self) -> Peer {
        Peer::start(self.connect_string(), SHORT_SESSION)
    }

    /// A contender in the shared Java process, for one recipe at one path.
    pub(crate) async fn actor(&self, recipe: &str, path: &str) -> Actor {
        self.peer().actor(recipe, &self.full(path)).await
    }

    /// The nodes below a path, as somebody else sees them.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        let connected = self.outsider.get_or_try_init(|| zk::Client::connect(self.connect_string())).await;
        match connected.expect("the server accepts a client").list_children(&self.full(path)).await {
            Err(zk::Error::NoNode) => Vec::new(),
            listed => listed.expect("the server lists"),
        }
    }

    /// The nodes of a queue in its order, as full paths.
    pub(crate) async fn queue(&self, path: &str) -> Vec<String> {
        let mut nodes = self.children(path).await;
        // A reader that was a writer has a writer's number, and only one of the two is left soon.
        nodes.sort_by_key(|node| node[node.len() - 10..].to_owned());
        nodes.iter().map(|node| self.full(&format!("{path}/{node}"))).collect()
    }

    /// Waits until a session has found that it has to wait for the node at this place of the queue.
    pub(crate) async fn until_waits(&self, path: &str, session_id: Option<i64>, place: usize) {
        let session = format!("0x{:x}", session_id.expect("there is a session"));
        let waits = async || {
            let watches = server(self.kind).four_letter("wchp").expect("the server answers");
            let queue = self.queue(path).await;
            queue.get(place).is_some_and(|node| is_watched(&watches, node, &session))
        };
        until(waits, "the waiter watches").await;
    }

    /// Waits until a path has so many nodes below it.
    pub(crate) async fn until_queued(&self, path: &str, count: usize) {
        until(|| async { self.children(path).await.len() == count }, "the queue has its length").await;
    }

    pub(crate) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.namespace)
    }

    /// The participants below a path as full paths and what they say of themselves, in which form Java lists them.
    pub(crate) fn listed(&self, path: &str, participants: &[Participant]) -> Vec<(String, String)> {
        let listed = participants.iter().filter(|one| one.path == path);
        listed.map(|one| (self.full(&format!("{path}/{}", one.node)), one.identity.clone())).collect()
    }
}

/// Each watched path stands on a line, and each of its sessions on one of those below it.
fn is_watched(watches: &str, node: &str, session: &str) -> bool {
    let mut lines = watches.lines().skip_while(|line| *line != node).skip(1);
    lines.by_ref().take_while(|line| line.starts_with('\t')).any(|line| line.trim() == session)
}

/// The configuration of a client that is killed.
pub(crate) fn mortal_config(connect_string: &str, namespace: &str) -> Config {
    Config::new(connect_string).namespace(namespace).session_timeout(SHORT_SESSION).tick_time(TICK)
}

/// Waits until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(mut condition: impl FnMut() -> F, what: &str) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Awaits what must come soon.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it came in vain")
}
