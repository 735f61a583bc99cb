//! The servers of the tests, and the means to observe and change them as an outsider.

pub(crate) mod diagnosis;
pub(crate) mod frames;
pub(crate) mod logs;
pub(crate) mod process;
mod server;
pub(crate) mod session_end;
mod waiting;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use zklock::{Client, Config, LeaderLatch, Leadership, LockError, Mutex, MutexGuard, Participant};
use zklock_testkit::Proxy;
use zookeeper_client as zk;

use session_end::end_session;

pub(crate) use server::{QUICK_TICK, Server, TICK, server};
pub(crate) use waiting::{SOON, in_time, soon, until};

/// The installed clients of this process. The tests that install one write it, and those that rely on there being none
/// read it.
pub(crate) static INSTALLED: RwLock<()> = RwLock::const_new(());

/// A session timeout that outlasts the restart of a real server on a busy machine, and then a connection that was made too
/// early: such a server never answers it, and the client gives it up after two fifths of the session timeout.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
const SESSION: Duration = Duration::from_secs(10);
/// The timeout of sessions whose ends a test waits for.
pub(crate) const QUICK_SESSION: Duration = Duration::from_millis(1_500);

/// A test's namespace on a shared server.
#[derive(Clone)]
pub(crate) struct Space {
    server: &'static Server,
    pub(crate) namespace: String,
    /// The session timeout and the tick of its clients.
    timing: (Duration, Duration),
}

impl Space {
    pub(crate) fn new() -> Self {
        Self::of(server(), (SESSION, TICK))
    }

    pub(crate) async fn with_client() -> (Self, Client) {
        let space = Self::new();
        let client = space.client().await;
        (space, client)
    }

    pub(crate) async fn with_clients<const N: usize>() -> (Self, [Client; N]) {
        let (space, mut clients) = (Self::new(), Vec::new());
        for _ in 0..N {
            clients.push(space.client().await);
        }
        (space, clients.try_into().expect("there are so many"))
    }

    pub(crate) async fn with_proxy() -> (Self, Proxy, Client) {
        let space = Self::new();
        let (proxy, client) = space.proxied().await;
        (space, proxy, client)
    }

    /// Returns a namespace on a server with [`QUICK_TICK`], for clients with [`QUICK_SESSION`].
    pub(crate) fn quick() -> Self {
        Self::of(server::quick_server(), (QUICK_SESSION, QUICK_TICK))
    }

    fn of(server: &'static Server, timing: (Duration, Duration)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/it-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { server, namespace, timing }
    }

    pub(crate) fn config(&self) -> Config {
        self.config_at(self.server.connect_string())
    }

    /// Returns the same configuration with another address of the server.
    pub(crate) fn config_at(&self, connect: &str) -> Config {
        let (session, tick) = self.timing;
        let config = Config::new(connect).namespace(&self.namespace).session_timeout(session).tick_time(tick);
        // The servers of the tests may stand still for some seconds.
        config.server_timeout(session * 2 / 5)
    }

    pub(crate) fn server(&self) -> &'static Server {
        self.server
    }

    pub(crate) async fn client(&self) -> Client {
        self.config().connect().await.expect("the server accepts a client")
    }

    pub(crate) async fn proxied(&self) -> (Proxy, Client) {
        self.proxied_with(|config| config).await
    }

    pub(crate) async fn proxied_with(&self, set: impl FnOnce(Config) -> Config) -> (Proxy, Client) {
        let proxy = Proxy::start(self.server.address()).expect("a proxy starts");
        let config = set(self.config_at(proxy.connect_string()));
        let client = config.connect().await.expect("the server accepts a client");
        (proxy, client)
    }

    /// Opens a connection that does not use zklock.
    pub(crate) async fn outsider(&self) -> zk::Client {
        self.server.outsider().await
    }

    pub(crate) fn end_session_of(&self, client: &Client) {
        end_session(self.server.address(), client.session_id().expect("the client has a session"));
    }

    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        let deadline = Instant::now() + SOON;
        loop {
            match self.outsider().await.list_children(&self.full(path)).await {
                Ok(children) => return children,
                Err(zk::Error::NoNode) => return Vec::new(),
                Err(zk::Error::ConnectionLoss) if Instant::now() < deadline => {}
                Err(error) => panic!("the server does not list: {error}"),
            }
        }
    }

    /// Deletes the nodes below a lock, as an outsider might.
    pub(crate) async fn delete_children(&self, path: &str) {
        for child in self.children(path).await {
            self.delete(&format!("{path}/{child}")).await;
        }
    }

    /// Deletes the node of the contender that entered a lock first, as an outsider might.
    pub(crate) async fn delete_first_child(&self, path: &str) {
        let children = self.children(path).await;
        let number = |child: &&String| child[child.len() - 10..].to_owned();
        let first = children.iter().min_by_key(number).expect("a contender is in the queue");
        self.delete(&format!("{path}/{first}")).await;
    }

    async fn delete(&self, path: &str) {
        let deleted = self.outsider().await.delete(&self.full(path), None).await;
        assert!(matches!(deleted, Ok(()) | Err(zk::Error::NoNode)), "{deleted:?}");
    }

    /// Gives all clients only this permission on a lock.
    pub(crate) async fn permit(&self, path: &str, permission: zk::Permission) {
        let acl = [zk::Acl::new(permission, zk::AuthId::anyone())];
        self.outsider().await.set_acl(&self.full(path), &acl, None).await.expect("the node is there");
    }

    /// Gives all clients only this permission on a node, which it creates if it is missing, like those above it.
    /// Returns a connection that has every permission.
    pub(crate) async fn restrict(&self, path: &str, permission: zk::Permission) -> zk::Client {
        let (outsider, path) = (self.outsider().await, self.full(path));
        outsider.auth("digest", b"outsider:secret").await.unwrap();
        outsider.mkdir(&path, &persistent()).await.unwrap();
        let anyone = zk::Acl::new(permission, zk::AuthId::anyone());
        let creator = zk::Acl::new(zk::Permission::ALL, zk::AuthId::authed());
        outsider.set_acl(&path, &[anyone, creator], None).await.unwrap();
        outsider
    }

    pub(crate) async fn until_empty(&self, path: &str) {
        until(|| async { self.children(path).await.is_empty() }, "no contender is left").await;
    }

    /// Waits until no contender of a client that was shut down is left.
    pub(crate) async fn until_withdrawn(&self, path: &str) {
        until_before_expiry(async || self.children(path).await.is_empty(), "no contender is left").await;
    }

    pub(crate) fn is_watched(&self, path: &str) -> bool {
        !self.server.watchers(&self.full(path)).is_empty()
    }

    /// Returns whether any client watches the data of a node below this one.
    pub(crate) fn is_watched_below(&self, path: &str) -> bool {
        self.server.four_letter("wchp").expect("the server answers").contains(&self.full(&format!("{path}/")))
    }

    /// Returns whether the client's session watches the data of a node below this one.
    pub(crate) fn is_watching(&self, client: &Client, path: &str) -> bool {
        let watches = self.server.four_letter("wchp").expect("the server answers");
        let (below, own) = (self.full(&format!("{path}/")), client.session_id().unwrap_or(0));
        let own = format!("0x{own:x}");
        let mut is_below = false;
        watches.lines().any(|line| match line.trim().strip_prefix("0x") {
            Some(_) => is_below && line.trim() == own,
            None => {
                is_below = line.starts_with(&below);
                false
            }
        })
    }

    pub(crate) async fn until_queued(&self, path: &str, count: usize) {
        until(|| async { self.children(path).await.len() == count }, "the queue has its length").await;
    }

    pub(crate) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.namespace)
    }
}

impl Server {
    /// Returns the sessions that watch the data of the node with this path.
    pub(crate) fn watchers(&self, path: &str) -> BTreeSet<i64> {
        let watches = self.four_letter("wchp").expect("the server answers");
        let of_node = watches.lines().skip_while(|line| *line != path).skip(1);
        let sessions = of_node.map_while(|line| line.trim().strip_prefix("0x"));
        sessions.map(|id| u64::from_str_radix(id, 16).unwrap().cast_signed()).collect()
    }

    /// Returns a configuration with [`QUICK_SESSION`], for a server with [`QUICK_TICK`].
    pub(crate) fn quick_config(&self) -> Config {
        Config::new(self.connect_string()).session_timeout(QUICK_SESSION).tick_time(QUICK_TICK)
    }

    /// Connects a client with this session timeout to a server with [`TICK`].
    pub(crate) async fn client(&self, session: Duration) -> Client {
        let config = Config::new(self.connect_string()).session_timeout(session).tick_time(TICK);
        config.connect().await.expect("the server accepts a client")
    }

    /// Opens a connection that does not use zklock.
    pub(crate) async fn outsider(&self) -> zk::Client {
        outsider_at(self.connect_string()).await
    }
}

/// Opens a connection that does not use zklock, and that a server keeps although it stands still for some seconds.
pub(crate) async fn outsider_at(connect: &str) -> zk::Client {
    let connector = zk::Client::connector().with_session_timeout(SESSION);
    let connecting = connector.with_connection_timeout(SESSION * 3 / 5).connect(connect);
    connecting.await.expect("the server accepts a client")
}

/// Waits until a condition holds, but not until a session that was left open would expire.
pub(crate) async fn until_before_expiry<F: Future<Output = bool>>(condition: impl FnMut() -> F, what: &str) {
    let in_time = tokio::time::timeout(SESSION / 2, until(condition, what)).await;
    assert!(in_time.is_ok(), "timed out waiting until {what}");
}

/// Waits until a client leads. A first call waits for two seconds only, which a busy server may need.
pub(crate) async fn until_leads(client: &Client, path: &str) {
    soon(client.leader(path).unwrap().leadership()).await.unwrap();
}

/// Waits until this many calls of a client wait in its line, as the participants of the lock tell.
pub(crate) async fn until_waiting_here(
    participants: impl AsyncFn() -> Result<Vec<Participant>, LockError>,
    count: u32,
) {
    let waiting = async || participants().await.unwrap().iter().find_map(|own| own.waiting_here);
    until(async || waiting().await == Some(count), "the calls wait in line").await;
}

pub(crate) async fn until_in_line(mutex: &Mutex, count: u32) {
    until_waiting_here(async || mutex.participants().await, count).await;
}

#[track_caller]
pub(crate) fn failed<T: Debug, E>(result: Result<T, E>) -> E {
    match result {
        Err(error) => error,
        Ok(value) => panic!("the call did not fail: {value:?}"),
    }
}

/// Checks the text of the error of a call whose wait ended behind others. It goes on with the holder if that is known.
#[track_caller]
pub(crate) fn assert_waited(error: &LockError, wait: &str, path: &str) {
    let (text, expected) =
        (error.to_string(), format!("timed out after {wait} waiting behind others for lock {path}"));
    let holder = text.strip_prefix(&expected);
    assert!(holder.is_some_and(|holder| holder.is_empty() || holder.starts_with(": held by ")), "{text}");
}

pub(crate) async fn lock(client: &Client, path: &str) -> MutexGuard {
    soon(client.mutex(path).unwrap().lock_timeout(Duration::MAX)).await.unwrap()
}

pub(crate) async fn lead(client: &Client, path: &str) -> (LeaderLatch, Leadership) {
    let latch = client.leader_latch(path).unwrap();
    let term = soon(latch.leadership()).await.unwrap();
    (latch, term)
}

pub(crate) fn spawn_lock(client: &Client, path: &str) -> JoinHandle<MutexGuard> {
    spawn_lock_of(&client.mutex(path).unwrap())
}

pub(crate) fn spawn_lock_of(mutex: &Mutex) -> JoinHandle<MutexGuard> {
    let mutex = mutex.clone();
    tokio::spawn(async move { mutex.lock_timeout(Duration::MAX).await.unwrap() })
}

pub(crate) fn persistent() -> zk::CreateOptions<'static> {
    zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all())
}

pub(crate) fn ephemeral() -> zk::CreateOptions<'static> {
    zk::CreateMode::Ephemeral.with_acls(zk::Acls::anyone_all())
}

pub(crate) fn sequential() -> zk::CreateOptions<'static> {
    zk::CreateMode::EphemeralSequential.with_acls(zk::Acls::anyone_all())
}

/// Polls a future at most this many times, each time after it was woken, and drops it if it is not done by then.
pub(crate) async fn polled<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
