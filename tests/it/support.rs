//! The servers of the tests, and the means to observe and change them as an outsider.

pub(crate) mod frames;
pub(crate) mod process;
pub(crate) mod random;
mod server;
pub(crate) mod session_end;
mod waiting;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::RwLock;
use zklock::{Client, Config, LockError, Mutex};
use zklock_testkit::Proxy;
use zookeeper_client as zk;

use session_end::end_session;

pub(crate) use server::{Kind, QUICK_TICK, Server, TICK, on_both_servers, server};
pub(crate) use waiting::{SOON, soon, until};

/// The installed clients of this process. The tests that install one write it, and those that rely on there being none
/// read it.
pub(crate) static INSTALLED: RwLock<()> = RwLock::const_new(());

/// A test's namespace on a shared server.
pub(crate) struct Space {
    server: &'static Server,
    pub(crate) namespace: String,
}

impl Space {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::of(server(kind))
    }

    /// Returns a namespace on a server with [`QUICK_TICK`].
    pub(crate) fn quick(kind: Kind) -> Self {
        Self::of(server::quick_server(kind))
    }

    fn of(server: &'static Server) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/it-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { server, namespace }
    }

    /// Returns a configuration for this namespace with a session timeout of six seconds.
    pub(crate) fn config(&self) -> Config {
        self.config_at(self.server.connect_string())
    }

    /// Returns the same configuration with another address of the server.
    pub(crate) fn config_at(&self, connect: &str) -> Config {
        Config::new(connect)
            .namespace(&self.namespace)
            .session_timeout(Duration::from_secs(6))
            .tick_time(TICK)
    }

    pub(crate) fn server(&self) -> &'static Server {
        self.server
    }

    pub(crate) async fn client(&self) -> Client {
        self.config().connect().await.expect("the server accepts a client")
    }

    /// Connects a client through its own proxy.
    pub(crate) async fn proxied(&self) -> (Proxy, Client) {
        let proxy = Proxy::start(self.server.address()).expect("a proxy starts");
        let config = self.config_at(proxy.connect_string());
        let client = config.connect().await.expect("the server accepts a client");
        (proxy, client)
    }

    /// Opens a connection that does not use zklock.
    pub(crate) async fn outsider(&self) -> zk::Client {
        zk::Client::connect(self.server.connect_string()).await.expect("the server accepts a client")
    }

    /// Ends a client's session, as its expiry would.
    pub(crate) fn end_session_of(&self, client: &Client) {
        end_session(self.server.address(), client.session_id().expect("the client has a session"));
    }

    /// Lists the nodes below a lock, as an outsider sees them.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        let listed = self.outsider().await.list_children(&self.full(path)).await;
        match listed {
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

    /// Deletes the node of the contender that entered a lock first, as an outsider might.
    pub(crate) async fn delete_first_child(&self, path: &str) {
        let children = self.children(path).await;
        let number = |child: &&String| child[child.len() - 10..].to_owned();
        let first = children.iter().min_by_key(number).expect("a contender is in the queue");
        let outsider = self.outsider().await;
        outsider.delete(&self.full(&format!("{path}/{first}")), None).await.expect("the node is there");
    }

    pub(crate) async fn until_empty(&self, path: &str) {
        until(|| async { self.children(path).await.is_empty() }, "no contender is left").await;
    }

    /// Returns whether any client watches the data of a node.
    pub(crate) fn is_watched(&self, path: &str) -> bool {
        let watched = self.server.four_letter("wchp").expect("the server answers");
        watched.lines().any(|line| line == self.full(path))
    }

    /// Waits until this many contenders are in the queue.
    pub(crate) async fn until_queued(&self, path: &str, count: usize) {
        until(|| async { self.children(path).await.len() == count }, "the queue has its length").await;
    }

    pub(crate) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.namespace)
    }
}

/// Waits until this many calls of the mutex's client wait in its line.
pub(crate) async fn until_in_line(mutex: &Mutex, count: u32) {
    let waiting = async || mutex.participants().await.unwrap().iter().find_map(|own| own.waiting_here);
    until(async || waiting().await == Some(count), "the calls wait in line").await;
}

/// Returns the error of a call that must fail.
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
