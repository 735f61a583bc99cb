use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use zklock_core::{Client, Config};
use zklock_testkit::{EmbeddedServer, Proxy};

use super::dropped_reply::DroppedReply;
use super::replica::Replica;
use super::waiting::until_some;

/// The ZooKeeper server of a test, to look at and to do harm with.
///
/// It is inside of the test's process, keeps everything in memory, and ends with the test. Paths are those that
/// the code under test uses. Its clones are the same server.
///
/// ```
/// # use zklock::LockError;
/// # zklock::testing::Harness::new().run(async |zk: zklock::testing::TestServer| {
/// let client = zklock::client()?;
/// let held = client.mutex("/orders/7")?.lock().await?;
/// assert_eq!(zk.holder("/orders/7"), client.session_id());
///
/// zk.expire(&client).await;
/// assert_eq!(zk.holder("/orders/7"), None);
/// held.lost().await;
/// # Ok::<(), LockError>(())
/// # })?;
/// # Ok::<(), LockError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TestServer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    server: EmbeddedServer,
    session_timeout: Duration,
    replicas: Mutex<Vec<Replica>>,
}

/// Clients.
impl TestServer {
    pub(super) fn start(session_timeout: Duration) -> Self {
        let builder = EmbeddedServer::builder().tick_time(TICK).max_session_timeout(Duration::MAX);
        let server = builder.start().expect("the test's server should start");
        Self { inner: Arc::new(Inner { server, session_timeout, replicas: Mutex::default() }) }
    }

    /// Connects another client with a session of its own: a second replica of the service.
    ///
    /// It lives until the test ends or shuts it down.
    ///
    /// # Panics
    ///
    /// When the server does not answer within 10 s, because it is paused.
    pub async fn client(&self) -> Client {
        let proxy = Proxy::start(self.inner.server.address()).expect("the client's proxy should start");
        let config = self.configured(proxy.connect_string());
        let replica = Replica::connect(proxy, config).await;
        let client = replica.client().clone();
        self.replicas().push(replica);
        client
    }

    /// The configuration of a client of this server, for code that connects by itself.
    ///
    /// Such a client is connected directly: [`partition`](Self::partition) and
    /// [`drop_reply`](Self::drop_reply) cannot be done to it.
    pub fn config(&self) -> Config {
        self.configured(self.inner.server.connect_string())
    }

    fn configured(&self, connect: &str) -> Config {
        Config::new(connect)
            .namespace(NAMESPACE)
            .session_timeout(self.inner.session_timeout)
            .tick_time(TICK)
            .sync_limit(TICK * 5)
    }
}

/// Harm.
impl TestServer {
    /// Ends a client's session, as if it had timed out. Its nodes are gone when this returns.
    ///
    /// The client learns of it, and opens the next session by itself.
    ///
    /// # Panics
    ///
    /// When the client has had no session at this server for 10 s.
    pub async fn expire(&self, client: &Client) {
        let session = self.session_of(client).await;
        self.inner.server.expire(session);
    }

    /// Breaks the connection of a client, which may connect again at once. Its session lives on.
    ///
    /// # Panics
    ///
    /// When the client has had no session at this server for 10 s.
    pub async fn disconnect(&self, client: &Client) {
        let session = self.session_of(client).await;
        self.inner.server.disconnect(session);
    }

    /// Lets nothing pass between a client and the server until they [`heal`](Self::heal).
    ///
    /// Neither is told: the holder of a lock finds out by its clock, and then the server by its own.
    ///
    /// # Panics
    ///
    /// When the client is not one that [`client`](Self::client) or the test itself was given.
    pub fn partition(&self, client: &Client) {
        self.with_replica(client, Replica::partition);
    }

    /// Ends a [`partition`](Self::partition).
    ///
    /// # Panics
    ///
    /// When the client is not one that [`client`](Self::client) or the test itself was given.
    pub fn heal(&self, client: &Client) {
        self.with_replica(client, Replica::heal);
    }

    /// Breaks the connection of a client once the server has created the next contender of it, before the client
    /// is told: it cannot know whether there is one.
    ///
    /// # Panics
    ///
    /// When the client is not one that [`client`](Self::client) or the test itself was given.
    pub fn drop_reply(&self, client: &Client) -> DroppedReply {
        DroppedReply::new(self.with_replica(client, Replica::drop_reply))
    }

    /// Takes a lock from its holder, as an operator might: deletes its node.
    ///
    /// # Panics
    ///
    /// When nobody holds the lock, or the path does not start with a `/`.
    pub fn break_lock(&self, path: &str) {
        let contenders = self.contenders(path);
        let holder = contenders.first().unwrap_or_else(|| panic!("no client holds {path}"));
        self.inner.server.delete(&holder.node);
    }

    /// Deletes a node and all below it: of a lock, the queue with everybody in it.
    ///
    /// # Panics
    ///
    /// When there is no such node, or the path does not start with a `/`.
    pub fn delete(&self, path: &str) {
        assert!(self.inner.server.delete(&full(path)) > 0, "there is no node {path} to delete");
    }

    /// Stops the server without closing anything. Sessions time out when it resumes, as those of a real one.
    ///
    /// Methods that need an answer of the server, such as [`hold`](Self::hold), fail meanwhile.
    ///
    /// # Panics
    ///
    /// When the test has ended.
    pub fn pause(&self) {
        self.inner.server.pause().expect("the test has ended, and its server with it");
    }

    /// Ends a [`pause`](Self::pause).
    ///
    /// # Panics
    ///
    /// When the test has ended.
    pub fn resume(&self) {
        self.inner.server.resume().expect("the test has ended, and its server with it");
    }

    /// Ends the server and starts it again. Connections break; sessions and nodes are still there.
    ///
    /// # Panics
    ///
    /// When somebody else took its port in between.
    pub fn restart(&self) {
        self.inner.server.restart().expect("the test's server should start again");
    }

    /// Waits for the session, because a client may be about to open the next one.
    async fn session_of(&self, client: &Client) -> i64 {
        let lives = |id: &i64| self.inner.server.sessions().iter().any(|session| session.id == *id);
        let look = || client.session_id().filter(lives);
        until_some(look, || format!("the test's server has a session of {client:?}")).await
    }

    /// The server itself.
    pub(super) fn embedded(&self) -> &EmbeddedServer {
        &self.inner.server
    }

    fn with_replica<T>(&self, client: &Client, act: impl FnOnce(&Replica) -> T) -> T {
        let replicas = self.replicas();
        match replicas.iter().find(|replica| replica.client().is_same(client)) {
            Some(replica) => act(replica),
            None => panic!("not a client of the test or from `TestServer::client`: {client:?}"),
        }
    }
}

impl TestServer {
    /// Ends the clients as far as they can be ended in a short time, and then the server.
    pub(super) async fn end(&self) {
        self.inner.server.resume().ok();
        let replicas = std::mem::take(&mut *self.replicas());
        replicas.iter().for_each(Replica::heal);
        let ends = replicas.iter().map(|replica| replica.client().shutdown(Duration::ZERO));
        // A lock that was leaked keeps its client; what is left of it ends in the background.
        tokio::time::timeout(CLIENTS_END_WITHIN, join_all(ends)).await.ok();
        self.inner.server.kill().ok();
    }

    fn replicas(&self) -> MutexGuard<'_, Vec<Replica>> {
        self.inner.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path at the server.
pub(super) fn full(path: &str) -> String {
    assert!(path.starts_with('/'), "the path {path:?} is relative: start it with a `/`");
    format!("{NAMESPACE}{path}")
}

/// Each test has a server of its own, so that one will do.
pub(super) const NAMESPACE: &str = "/test";
/// The server's tick, at the multiples of which sessions time out.
const TICK: Duration = Duration::from_millis(50);
const CLIENTS_END_WITHIN: Duration = Duration::from_millis(500);
