//! Bounds the requests of acquisitions that are under way, so that the requests that prove leases never wait behind
//! many others. The latter do not pass here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::path::NodePath;

/// The requests of a session that are under way.
#[derive(Debug)]
pub(crate) struct Traffic {
    all: Arc<Semaphore>,
    gates: Gates,
}

type Gates = Arc<Mutex<HashMap<NodePath, Weak<Gate>>>>;

/// The bound of one queue, whose lists may be long. It exists while requests are under way or wait.
#[derive(Debug)]
struct Gate {
    dir: NodePath,
    lists: Arc<Semaphore>,
    gates: Gates,
}

/// The permission for requests at a time. Dropping it ends the permission.
#[derive(Debug)]
pub(crate) struct Passage {
    _all: OwnedSemaphorePermit,
    _list: Option<(OwnedSemaphorePermit, Arc<Gate>)>,
}

impl Default for Traffic {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(REQUESTS)), gates: Gates::default() }
    }
}

impl Traffic {
    /// Waits for the permission to send a request with a short answer.
    pub(crate) async fn pass(&self) -> Passage {
        Passage { _all: permit(&self.all).await, _list: None }
    }

    /// Waits for the permission to send a request that lists this queue.
    pub(crate) async fn pass_with_list(&self, dir: &NodePath) -> Passage {
        let gate = self.gate(dir);
        // The bound of the queue comes first. A long queue thus does not keep others waiting.
        let list = permit(&gate.lists).await;
        Passage { _all: permit(&self.all).await, _list: Some((list, gate)) }
    }

    fn gate(&self, dir: &NodePath) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(dir).and_then(Weak::upgrade) {
            return gate;
        }
        let lists = Arc::new(Semaphore::new(LISTS));
        let gate = Arc::new(Gate { dir: dir.clone(), lists, gates: self.gates.clone() });
        gates.insert(dir.clone(), Arc::downgrade(&gate));
        gate
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        // Another gate may have replaced this one.
        if gates.get(&self.dir).is_some_and(|gate| gate.strong_count() == 0) {
            gates.remove(&self.dir);
        }
    }
}

async fn permit(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = semaphore.clone().acquire_owned().await;
    permit.unwrap_or_else(|_| unreachable!("the semaphore is never closed"))
}

/// The number of requests of acquisitions that may be under way in a session.
const REQUESTS: usize = 1024;
/// The number of them that list the same queue.
const LISTS: usize = 64;

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn a_crowd_at_one_queue_leaves_room_for_other_queues() {
        let traffic = Traffic::default();
        let [crowd, other] = ["/crowd", "/other"].map(|path| NodePath::new("", path).unwrap());
        let waiting = join_all((0..LISTS).map(|_| traffic.pass_with_list(&crowd))).await;
        // Renews the budget with which Tokio limits a task that never yields.
        yield_now().await;
        assert!(traffic.pass_with_list(&crowd).now_or_never().is_none());
        assert!(traffic.pass_with_list(&other).now_or_never().is_some());
        drop(waiting);
        assert!(traffic.pass_with_list(&crowd).now_or_never().is_some());
        assert!(traffic.gates.lock().unwrap().is_empty(), "no queue is remembered");
    }

    #[tokio::test]
    async fn the_requests_of_a_session_are_bounded() {
        let traffic = Traffic::default();
        let queue = NodePath::new("", "/queue").unwrap();
        let all = join_all((0..REQUESTS).map(|_| traffic.pass())).await;
        yield_now().await;
        assert!(traffic.pass().now_or_never().is_none());
        assert!(traffic.pass_with_list(&queue).now_or_never().is_none());
        drop(all);
        assert!(traffic.pass_with_list(&queue).now_or_never().is_some());
    }
}
