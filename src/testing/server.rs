//! The server of a test, and the faults that it injects.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use zklock_core::{Client, Config, Release};
use zklock_testkit::{Direction, EmbeddedServer, How, Proxy, Rule};

use crate::global::Ambient;

/// The ZooKeeper server of a test, for observing locks and injecting faults.
///
/// It runs inside the test process, keeps everything in memory, and ends with the test. Paths are the same as
/// in the code under test. Clones share one server.
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

/// A client of a test, and the proxy between it and the server, which injects faults.
#[derive(Debug)]
struct Replica {
    client: Client,
    proxy: Proxy,
}

#[derive(Debug)]
struct Inner {
    server: EmbeddedServer,
    session_timeout: Duration,
    /// The clients that annotated functions find in the test.
    clients: Ambient,
    replicas: Mutex<Vec<Replica>>,
}

/// Clients.
impl TestServer {
    pub(super) fn start(session_timeout: Duration, clients: Ambient) -> Self {
        let builder = EmbeddedServer::builder().tick_time(TICK).max_session_timeout(Duration::MAX);
        let server = builder.start().expect("the test's server should start");
        Self { inner: Arc::new(Inner { server, session_timeout, clients, replicas: Mutex::default() }) }
    }

    /// Connects another client with its own session, like a second replica of the service.
    ///
    /// It lives until the test ends or shuts it down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the client up.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer within 10 s, for example because it is paused.
    pub async fn client(&self) -> Client {
        let proxy = Proxy::start(self.inner.server.address()).expect("the client's proxy should start");
        match self.configured(proxy.connect_string()).connect().await {
            Ok(client) => {
                self.replicas().push(Replica { client: client.clone(), proxy });
                client
            }
            Err(error) => panic!("the test's server did not accept a client: {error}"),
        }
    }

    /// Connects another client, which functions annotated with `client = "name"` use in this test.
    ///
    /// ```
    /// use zklock::{LockError, distributed_lock};
    ///
    /// #[distributed_lock(path = "/reports", client = "reporting")]
    /// async fn report() -> Result<(), LockError> {
    ///     Ok(())
    /// }
    ///
    /// # zklock::testing::Harness::new().run(async |zk| {
    /// zk.client_as("reporting").await;
    /// report().await?;
    /// # Ok::<(), LockError>(())
    /// # })?;
    /// # Ok::<(), LockError>(())
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the client up.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer within 10 s, for example because it is paused.
    pub async fn client_as(&self, name: impl Into<String>) -> Client {
        let client = self.client().await;
        self.inner.clients.insert(Some(name.into()), client.clone());
        client
    }

    /// Returns the configuration of a client of this server, for code that connects on its own.
    ///
    /// Such a client connects to the server directly, so [`partition`](Self::partition) and
    /// [`drop_reply`](Self::drop_reply) cannot be used on it.
    pub fn config(&self) -> Config {
        self.configured(self.inner.server.connect_string())
    }

    fn configured(&self, connect: &str) -> Config {
        Config::new(connect)
            .namespace(NAMESPACE)
            .session_timeout(self.inner.session_timeout)
            .tick_time(TICK)
            .sync_limit(TICK * 5)
            // A test looks at a lock through other clients right after a call.
            .release(Release::Acknowledged)
    }
}

/// Faults.
impl TestServer {
    /// Ends a client's session as if it had timed out. Its ephemeral nodes are gone when this returns.
    ///
    /// The client notices, and opens a new session automatically.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends no session.
    ///
    /// # Panics
    ///
    /// Panics if the client has no session at this server within 10 s.
    pub async fn expire(&self, client: &Client) {
        let session = self.session_of(client).await;
        self.inner.server.expire(session);
    }

    /// Breaks the connection of a client, which may connect again at once. Its session lives on.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future breaks no connection.
    ///
    /// # Panics
    ///
    /// Panics if the client has no session at this server within 10 s.
    pub async fn disconnect(&self, client: &Client) {
        let session = self.session_of(client).await;
        self.inner.server.disconnect(session);
    }

    /// Stops all traffic between a client and the server until [`heal`](Self::heal).
    ///
    /// The connection stays open, so neither side is notified: the holder of a lock detects the loss by its
    /// own clock, and the server ends the session later by its clock.
    ///
    /// # Panics
    ///
    /// Panics if the client is neither the test's own nor from [`client`](Self::client).
    pub fn partition(&self, client: &Client) {
        self.with_proxy(client, |proxy| proxy.blackhole(Direction::Both));
    }

    /// Ends a [`partition`](Self::partition).
    ///
    /// # Panics
    ///
    /// Panics if the client is neither the test's own nor from [`client`](Self::client).
    pub fn heal(&self, client: &Client) {
        self.with_proxy(client, Proxy::heal);
    }

    /// Breaks the connection of a client after the server has created its next contender, in place of the
    /// reply. The client then does not know whether the contender exists.
    ///
    /// # Panics
    ///
    /// Panics if the client is neither the test's own nor from [`client`](Self::client).
    pub fn drop_reply(&self, client: &Client) -> DroppedReply {
        let cut = |proxy: &Proxy| proxy.on_created().cut(How::Fin);
        DroppedReply { rule: self.with_proxy(client, cut) }
    }

    /// Takes a lock from its holder by deleting the holder's node, as an operator might.
    ///
    /// # Panics
    ///
    /// Panics if no client holds the lock, or if the path does not start with a `/`.
    pub fn break_lock(&self, path: &str) {
        let contenders = self.contenders(path);
        let holder = contenders.first().unwrap_or_else(|| panic!("no client holds {path}"));
        self.inner.server.delete(&holder.node);
    }

    /// Deletes a node and everything below it. At the path of a lock, this is the queue with all contenders.
    ///
    /// # Panics
    ///
    /// Panics if there is no such node, or if the path does not start with a `/`.
    pub fn delete(&self, path: &str) {
        assert!(self.inner.server.delete(&full(path)) > 0, "there is no node {path} to delete");
    }

    /// Pauses the server without closing any connection. As on a real server, sessions that have timed out
    /// meanwhile end when it resumes.
    ///
    /// Until then, methods that need an answer from the server, such as [`hold`](Self::hold), fail.
    ///
    /// # Panics
    ///
    /// Panics if the test has ended.
    pub fn pause(&self) {
        self.inner.server.pause().expect("the test has ended, and its server with it");
    }

    /// Ends a [`pause`](Self::pause).
    ///
    /// # Panics
    ///
    /// Panics if the test has ended.
    pub fn resume(&self) {
        self.inner.server.resume().expect("the test has ended, and its server with it");
    }

    /// Restarts the server. Connections break; sessions and nodes remain.
    ///
    /// # Panics
    ///
    /// Panics if another process takes the port in between.
    pub fn restart(&self) {
        self.inner.server.restart().expect("the test's server should start again");
    }

    /// Sets the server's clock forward, so that the periods of `once_per` pass.
    ///
    /// Sessions, leases and waits do not notice: other clocks measure them. The test's own client and those from
    /// [`client`](Self::client) and [`client_as`](Self::client_as) forget the periods that they know, and ask the
    /// server again. A client that the test connects on its own does not forget them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use zklock::{LockError, distributed_lock};
    ///
    /// #[distributed_lock(path = "/invoices", once_per = "1h")]
    /// async fn invoice() -> Result<Option<u32>, LockError> {
    ///     Ok(Some(7))
    /// }
    ///
    /// # zklock::testing::Harness::new().run(async |zk| {
    /// assert_eq!((invoice().await?, invoice().await?), (Some(7), None));
    /// zk.advance_clock(Duration::from_secs(3600));
    /// assert_eq!(invoice().await?, Some(7));
    /// # Ok::<(), LockError>(())
    /// # })?;
    /// # Ok::<(), LockError>(())
    /// ```
    pub fn advance_clock(&self, by: Duration) {
        self.inner.server.advance_wall_clock(by);
        self.replicas().iter().for_each(|replica| replica.client.forget_periods());
    }

    /// Returns the session of a client. Waits for one, because the client may be about to open the next.
    async fn session_of(&self, client: &Client) -> i64 {
        let lives = |id: &i64| self.inner.server.sessions().iter().any(|session| session.id == *id);
        let look = || client.session_id().filter(lives);
        until_some(look, || format!("the test's server has a session of {client:?}")).await
    }

    /// Returns the embedded server.
    pub(super) fn embedded(&self) -> &EmbeddedServer {
        &self.inner.server
    }

    fn with_proxy<T>(&self, client: &Client, act: impl FnOnce(&Proxy) -> T) -> T {
        match self.replicas().iter().find(|replica| replica.client.is_same(client)) {
            Some(replica) => act(&replica.proxy),
            None => panic!("not a client of the test or from `TestServer::client`: {client:?}"),
        }
    }
}

impl TestServer {
    /// Shuts down the clients, as far as this is possible in a short time, and then ends the server.
    pub(super) async fn end(&self) {
        self.inner.server.resume().ok();
        let replicas = std::mem::take(&mut *self.replicas());
        replicas.iter().for_each(|replica| replica.proxy.heal());
        let ends = replicas.iter().map(|replica| replica.client.shutdown(Duration::ZERO));
        // A leaked guard can delay the shutdown of its client, which then continues in the background.
        tokio::time::timeout(CLIENTS_END_WITHIN, join_all(ends)).await.ok();
        self.inner.server.kill().ok();
    }

    fn replicas(&self) -> MutexGuard<'_, Vec<Replica>> {
        self.inner.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reply that will be lost, or has been. See [`TestServer::drop_reply`](TestServer::drop_reply).
#[derive(Debug)]
#[must_use = "a test that does not ask whether the reply was lost may have tested nothing"]
pub struct DroppedReply {
    rule: Rule,
}

impl DroppedReply {
    /// Waits until the reply is lost: the server has created the node, and the client cannot know it.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Panics
    ///
    /// Panics if the reply is not lost within 10 s.
    pub async fn happened(&self) {
        let look = || (self.rule.hits() > 0).then_some(());
        until_some(look, || "the client created a node whose reply could be lost".to_owned()).await;
    }
}

/// Calls `look` until it returns a value.
///
/// # Panics
///
/// Panics after ten seconds, with `what` in the message. The seconds are real time, even if the test's clock
/// is paused.
pub(super) async fn until_some<T>(mut look: impl FnMut() -> Option<T>, what: impl FnOnce() -> String) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < SOON, "timed out after {SOON:?}: waited until {}", what());
        tokio::time::sleep(PAUSE).await;
    }
}

const SOON: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// Returns the path at the server, which includes the namespace.
pub(super) fn full(path: &str) -> String {
    assert!(path.starts_with('/'), "the path {path:?} is relative: start it with a `/`");
    format!("{NAMESPACE}{path}")
}

/// The namespace of every test. Each test has its own server, so one namespace is enough.
pub(super) const NAMESPACE: &str = "/test";
/// The server's tick. Sessions time out at multiples of it.
const TICK: Duration = Duration::from_millis(50);
const CLIENTS_END_WITHIN: Duration = Duration::from_millis(500);
