//! Who holds a lock, and who waits for it.

use zklock_testkit::wire::Stat;

use super::server::{NAMESPACE, TestServer, full};
use super::waiting::until_some;

impl TestServer {
    /// The session that holds a lock now, as [`Client::session_id`](crate::Client::session_id) has it.
    ///
    /// The server knows it before the client does. What is to happen to a client that knows that it holds the lock
    /// is best done from inside of the locked body.
    ///
    /// # Panics
    ///
    /// When the path does not start with a `/`.
    pub fn holder(&self, path: &str) -> Option<i64> {
        self.contenders(path).first().map(|contender| contender.stat.ephemeral_owner)
    }

    /// How many wait behind the holder of a lock now.
    ///
    /// # Panics
    ///
    /// When the path does not start with a `/`.
    pub fn waiting(&self, path: &str) -> usize {
        self.contenders(path).len().saturating_sub(1)
    }

    /// Waits until so many wait behind the holder of a lock.
    ///
    /// # Panics
    ///
    /// When that has not happened within 10 s, or the path does not start with a `/`.
    pub async fn until_waiting(&self, path: &str, count: usize) {
        let look = || (self.waiting(path) == count).then_some(());
        until_some(look, || format!("{count} clients wait for {path}, but {} do", self.waiting(path))).await;
    }

    /// Waits until the server is in some state, for example until a guard that was dropped is gone:
    ///
    /// ```
    /// # zklock::testing::Harness::new().run(async |zk| {
    /// # let guard = zk.hold("/orders/7").await;
    /// drop(guard);
    /// zk.until(|zk| zk.holder("/orders/7").is_none()).await;
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// When that has not happened within 10 s.
    pub async fn until(&self, mut condition: impl FnMut(&Self) -> bool) {
        let look = || condition(self).then_some(());
        until_some(look, || format!("a condition of the test holds; the nodes are {:#?}", self.nodes()))
            .await;
    }

    /// The nodes in a lock's queue, the holder's first: numbers are given in the order of creation.
    pub(super) fn contenders(&self, path: &str) -> Vec<Contender> {
        let server = self.embedded();
        let below = format!("{}/", full(path));
        let is_child = |node: &String| node.strip_prefix(&below).is_some_and(|name| !name.contains('/'));
        let nodes = server.paths().into_iter().filter(is_child);
        let contenders = nodes.filter_map(|node| Some(Contender { stat: server.node(&node)?, node }));
        let mut contenders: Vec<_> = contenders.filter(|it| it.stat.ephemeral_owner > 0).collect();
        contenders.sort_by_key(|contender| contender.stat.czxid);
        contenders
    }

    /// The nodes of all locks, as the test names them.
    fn nodes(&self) -> Vec<String> {
        let nodes = self.embedded().paths();
        nodes.iter().filter_map(|node| node.strip_prefix(NAMESPACE).map(str::to_owned)).collect()
    }
}

/// A node in a queue.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) node: String,
    stat: Stat,
}
