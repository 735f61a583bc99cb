//! Observes the queue of a lock: its holder and its waiters.

use zklock_testkit::wire::Stat;

use super::server::{NAMESPACE, TestServer, full, until_some};

impl TestServer {
    /// Returns the session that holds a lock now, as in [`Client::session_id`](crate::Client::session_id).
    ///
    /// The server knows the holder before the client does. To inject a fault into a client that knows that it
    /// holds the lock, do it inside the locked body. For the first permit of a semaphore, ask for `PATH/leases`.
    ///
    /// # Panics
    ///
    /// Panics if the path does not start with a `/`.
    pub fn holder(&self, path: &str) -> Option<i64> {
        self.contenders(path).first().map(|contender| contender.stat.ephemeral_owner)
    }

    /// Returns the number of contenders behind the first one in the queue of a lock.
    ///
    /// The calls of one client share a contender, and have none while they wait for a call of their own client. Readers
    /// that hold the lock together count, except for the first. The queue of a semaphore is at `PATH/locks`, and its
    /// permits are at `PATH/leases`.
    ///
    /// # Panics
    ///
    /// Panics if the path does not start with a `/`.
    pub fn waiting(&self, path: &str) -> usize {
        self.contenders(path).len().saturating_sub(1)
    }

    /// Waits until there are exactly `count` contenders behind the first one; see [`waiting`](Self::waiting).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within 10 s, or if the path does not start with a `/`.
    pub async fn until_waiting(&self, path: &str, count: usize) {
        let look = || (self.waiting(path) == count).then_some(());
        until_some(look, || format!("{count} clients wait for {path}, but {} do", self.waiting(path))).await;
    }

    /// Waits until a condition holds, for example until the lock of a dropped guard is free:
    ///
    /// ```
    /// # zklock::testing::Harness::new().run(async |zk| {
    /// # let guard = zk.hold("/orders/7").await;
    /// drop(guard);
    /// zk.until(|zk| zk.holder("/orders/7").is_none()).await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within 10 s.
    pub async fn until(&self, mut condition: impl FnMut(&Self) -> bool) {
        let look = || condition(self).then_some(());
        until_some(look, || format!("a condition of the test holds; the nodes are {:#?}", self.nodes()))
            .await;
    }

    /// Returns the contenders in a lock's queue, the holder first. Their order is the order of creation, in
    /// which the server assigns sequence numbers.
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

    /// Returns the paths of all nodes below the namespace, as the test names them.
    fn nodes(&self) -> Vec<String> {
        let nodes = self.embedded().paths();
        nodes.iter().filter_map(|node| node.strip_prefix(NAMESPACE).map(str::to_owned)).collect()
    }
}

/// A contender in the queue of a lock.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) node: String,
    stat: Stat,
}
