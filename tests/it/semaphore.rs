//! The contract of the semaphore.

mod agreement;
mod fairness;
mod gate;
mod passing;
mod shared;
mod tries;

use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, LockError, Semaphore, SemaphoreGuard};

use crate::support::{Space, soon};

const PATH: &str = "/pool";
/// The parent of the contenders at the gate, which they pass one by one.
const GATE: &str = "/pool/locks";
/// The parent of the permits, each of which has a node.
const LEASES: &str = "/pool/leases";
/// A wait in which a contender passes the gate even on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn semaphore(client: &Client, permits: u32) -> Semaphore {
    client.semaphore(PATH, permits).unwrap()
}

async fn take(semaphore: &Semaphore, permits: u32) -> SemaphoreGuard {
    soon(semaphore.acquire_many_timeout(permits, Duration::MAX)).await.unwrap()
}

type Waiting = JoinHandle<Result<SemaphoreGuard, LockError>>;

/// Takes permits in a separate task, however long that takes.
fn spawn_take(semaphore: &Semaphore, permits: u32) -> Waiting {
    let semaphore = semaphore.clone();
    tokio::spawn(async move { semaphore.acquire_many_timeout(permits, Duration::MAX).await })
}

/// Takes permits with one client, and lets another one wait behind the gate for more than are left.
async fn held_before(space: &Space, of: u32, [held, wanted]: [u32; 2]) -> (SemaphoreGuard, Waiting) {
    let guard = take(&semaphore(&space.client().await, of), held).await;
    space.until_empty(GATE).await;
    let waiting = spawn_take(&semaphore(&space.client().await, of), wanted);
    // It has the permits that are left, and one node more.
    space.until_queued(LEASES, of as usize + 1).await;
    (guard, waiting)
}

async fn until_nothing_is_left(space: &Space) {
    space.until_empty(LEASES).await;
    space.until_empty(GATE).await;
}

#[tokio::test]
async fn each_call_takes_permits_of_its_own_also_inside_of_another() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 2);
    let outer = semaphore.acquire().await.unwrap();
    let inside = outer.scope(async {
        let inner = semaphore.acquire().await.unwrap();
        assert_ne!(inner.fencing_token(), outer.fencing_token());
        assert!(semaphore.try_acquire().await.unwrap().is_none());
        inner.release().await.unwrap();
    });
    inside.await;
    assert!(outer.is_held());
}
