//! The server that all tests share, and the eyes and hands of an outsider.

pub(crate) mod session_end;

use std::fmt::Debug;
use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use zklock::{Client, Config};
use zklock_testkit::ZooKeeper;
use zookeeper_client as zk;

/// How long a test waits for a state that must come.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// The servers' tick: sessions end at multiples of it.
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// The server that all tests of this binary share; it ends with the process.
pub(crate) fn server() -> &'static ZooKeeper {
    static SERVER: OnceLock<ZooKeeper> = OnceLock::new();
    SERVER.get_or_init(|| ZooKeeper::builder().tick_time(TICK).start().expect("a ZooKeeper starts"))
}

/// A test's own part of the shared server.
pub(crate) struct Space {
    pub(crate) namespace: String,
}

impl Space {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/it-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { namespace }
    }

    /// A configuration for this space with a session that lives for six seconds.
    pub(crate) fn config(&self) -> Config {
        Config::new(server().connect_string())
            .namespace(&self.namespace)
            .session_timeout(Duration::from_secs(6))
            .tick_time(TICK)
    }

    pub(crate) async fn client(&self) -> Client {
        self.config().connect().await.expect("the server accepts a client")
    }

    /// The nodes below a lock, as an outsider sees them.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        let listed = outsider().await.list_children(&self.full(path)).await;
        match listed {
            Err(zk::Error::NoNode) => Vec::new(),
            listed => listed.expect("the server lists"),
        }
    }

    /// Deletes the nodes below a lock, as an outsider might.
    pub(crate) async fn delete_children(&self, path: &str) {
        let outsider = outsider().await;
        for child in self.children(path).await {
            outsider.delete(&self.full(&format!("{path}/{child}")), None).await.expect("the node is there");
        }
    }

    pub(crate) async fn until_empty(&self, path: &str) {
        until(|| async { self.children(path).await.is_empty() }, "no contender is left").await;
    }

    /// Waits until so many contenders are in the queue.
    pub(crate) async fn until_queued(&self, path: &str, count: usize) {
        until(|| async { self.children(path).await.len() == count }, "the queue has its length").await;
    }

    pub(crate) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.namespace)
    }
}

/// A connection without any of zklock.
pub(crate) async fn outsider() -> zk::Client {
    zk::Client::connect(server().connect_string()).await.expect("the server accepts a client")
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

/// Takes the error of what must fail.
#[track_caller]
pub(crate) fn failed<T: Debug, E>(result: Result<T, E>) -> E {
    match result {
        Err(error) => error,
        Ok(value) => panic!("it did not fail: {value:?}"),
    }
}
