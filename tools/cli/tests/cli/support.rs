//! A namespace on a shared server, seen by an outsider.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::zklock::{Client, Config};
use tokio::sync::OnceCell;
use zklock_testkit::Proxy;
use zookeeper_client as zk;

use crate::beat::now;
use crate::running::Running;
use crate::server::{Server, TICK};
use crate::waiting::until;
use crate::zklock::Zklock;

pub(crate) use crate::waiting::{SOON, soon};

/// The timeout of sessions whose ends no test waits for: longer than tests wait.
pub(crate) const SESSION: Duration = Duration::from_secs(60);
/// The timeout of sessions whose ends tests wait for. A machine under load may end a program with one by a short stall.
pub(crate) const SHORT_SESSION: Duration = Duration::from_secs(10);

/// Returns the server that the tests of the command share. It ends with the process.
fn server() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start_granting(SESSION))
}

/// Waits for a lock behind a program, and returns the time at which it was free.
pub(crate) async fn free(client: &Client, path: &str) -> Duration {
    let guard = soon(client.mutex(path).unwrap().lock_timeout(Duration::MAX)).await.unwrap();
    let time = now();
    guard.release().await.unwrap();
    time
}

/// A test's namespace on a shared server.
pub(crate) struct Space {
    server: &'static Server,
    pub(crate) namespace: String,
    /// Shared by all looks of a test, which are many.
    outsider: OnceCell<zk::Client>,
}

impl Space {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/cli-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { server: server(), namespace, outsider: OnceCell::new() }
    }

    pub(crate) fn connect_string(&self) -> &'static str {
        self.server.connect_string()
    }

    /// Returns the command with these arguments, which are separated by spaces.
    pub(crate) fn zklock(&self, arguments: &str) -> Zklock {
        self.zklock_at(self.connect_string(), arguments)
    }

    /// Returns the command at another address of the server.
    pub(crate) fn zklock_at(&self, connect: &str, arguments: &str) -> Zklock {
        let zklock = Zklock::new(arguments).env("ZKLOCK_CONNECT", connect);
        let zklock = zklock.env("ZKLOCK_NAMESPACE", &self.namespace);
        zklock.session(SESSION).env("ZKLOCK_TICK_TIME", format!("{}ms", TICK.as_millis()))
    }

    /// Returns the command with a session whose end is waited for.
    pub(crate) fn brief(&self, arguments: &str) -> Zklock {
        self.zklock(arguments).session(SHORT_SESSION)
    }

    /// Returns the command at another address of the server, with a session whose end is waited for.
    pub(crate) fn brief_at(&self, connect: &str, arguments: &str) -> Zklock {
        self.zklock_at(connect, arguments).session(SHORT_SESSION)
    }

    /// Starts a program under a lock, which runs until it is ended, and returns when it runs.
    pub(crate) fn holder(&self, arguments: &str) -> Running {
        let mut running = self.waiter(arguments);
        assert_eq!(running.line(), "held");
        running
    }

    /// Starts a program that is to wait for its lock, and tells when it runs.
    pub(crate) fn waiter(&self, arguments: &str) -> Running {
        self.zklock(&format!("exec {arguments}")).shell("echo held; exec sleep 1000").start()
    }

    pub(crate) fn proxy(&self) -> Proxy {
        Proxy::start(self.server.address()).expect("a proxy starts")
    }

    pub(crate) async fn client(&self) -> Client {
        let config = Config::new(self.connect_string()).namespace(&self.namespace);
        let config = config.session_timeout(SESSION).tick_time(TICK).default_wait(SOON);
        config.connect().await.expect("the server accepts a client")
    }

    /// Returns a connection that does not use zklock.
    pub(crate) async fn outsider(&self) -> &zk::Client {
        let connect = async || {
            let connector = zk::Client::connector().with_session_timeout(SESSION);
            connector.connect(self.connect_string()).await.expect("the server accepts a client")
        };
        self.outsider.get_or_init(connect).await
    }

    /// Lists the nodes below a path, as an outsider sees them.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        match self.outsider().await.list_children(&self.full(path)).await {
            Err(zk::Error::NoNode) => Vec::new(),
            listed => listed.expect("the server lists"),
        }
    }

    /// Deletes the nodes below a lock, as an outsider might.
    pub(crate) async fn delete_children(&self, path: &str) {
        let outsider = self.outsider().await;
        for child in self.children(path).await {
            outsider.delete(&self.full(&format!("{path}/{child}")), None).await.expect("the node is there");
        }
    }

    pub(crate) async fn until_queued(&self, path: &str, count: usize) {
        until(|| async { self.children(path).await.len() == count }, "the queue has its length").await;
    }

    pub(crate) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.namespace)
    }
}
