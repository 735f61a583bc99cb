//! Calls exclude each other, and their arguments may hold the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::task::{JoinSet, block_in_place};
use zklock::{Client, FencingToken, LockError, distributed_lock};

use crate::support::{Space, soon};

#[distributed_lock(path = "/counter", wait = "60s")]
async fn count(counter: Arc<AtomicU32>) -> Result<(), LockError> {
    let seen = counter.load(Ordering::SeqCst);
    tokio::task::yield_now().await;
    counter.store(seen + 1, Ordering::SeqCst);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unprotected_counter_is_exact() {
    let space = Space::new();
    let (counter, mut calls) = (Arc::new(AtomicU32::new(0)), JoinSet::new());
    for client in [space.client().await, space.client().await] {
        for _ in 0..25 {
            calls.spawn(zklock::scope(client.clone(), count(counter.clone())));
        }
    }
    assert!(soon(calls.join_all()).await.iter().all(Result::is_ok));
    assert_eq!(counter.load(Ordering::SeqCst), 50);
    space.until_empty("/counter").await;
}

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
async fn a_client_may_be_a_field() {
    let (space, elsewhere) = (Space::new(), Space::new());
    let ledger = Ledger { locks: space.client().await };
    let written = zklock::scope(elsewhere.client().await, ledger.write("seven"));
    written.await.unwrap();
    assert_eq!(elsewhere.children("").await, [""; 0]);
    space.until_empty("/ledger").await;
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
