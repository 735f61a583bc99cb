//! Calls exclude each other, and their arguments may hold the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::task::block_in_place;
use zklock::{Client, FencingToken, LockError, distributed_lock};

use crate::support::Space;

/// Counts the contenders in the queue when it is dropped.
struct Witness {
    space: Arc<Space>,
    contenders: Arc<AtomicUsize>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        let children = self.space.children("/order");
        let children = block_in_place(|| Handle::current().block_on(children));
        self.contenders.store(children.len(), Ordering::SeqCst);
    }
}

#[distributed_lock(path = "/order")]
async fn settle(_argument: Witness) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_are_dropped_before_the_lock_is_released() {
    let (space, contenders) = (Arc::new(Space::new()), Arc::new(AtomicUsize::new(0)));
    let call = settle(Witness { space: space.clone(), contenders: contenders.clone() });
    zklock::scope(space.client().await, call).await.unwrap();
    assert_eq!(contenders.load(Ordering::SeqCst), 1);
    space.until_empty("/order").await;
}

struct Ledger {
    locks: Client,
}

impl Ledger {
    #[distributed_lock(path = "/ledger", client = self.locks, guard = held)]
    async fn write(&self, entry: &str) -> Result<FencingToken, LockError> {
        held.create("/entries", "none").await?;
        held.set_data("/entries", entry).await?;
        Ok(held.fencing_token())
    }
}

#[tokio::test]
async fn the_guard_is_at_hand_in_the_body() {
    let space = Space::new();
    let ledger = Ledger { locks: space.client().await };
    let token = ledger.write("seven").await.unwrap();
    let (data, _) = space.outsider().await.get_data(&space.full("/entries")).await.unwrap();
    assert_eq!(data, b"seven");
    let later = ledger.locks.mutex("/ledger").unwrap().lock().await.unwrap();
    assert!(token < later.fencing_token());
}
