//! Bodies that run to their end even if their lock is lost.

use std::sync::atomic::{AtomicBool, Ordering};

use zklock::{LockError, LossReason, distributed_lock};

use crate::support::{Space, failed, soon};

#[distributed_lock(path = "/migration", on_lost = finish, guard = held)]
async fn migrate(space: &Space, is_done: &AtomicBool) -> Result<u8, LockError> {
    space.delete_children("/migration").await;
    held.lost().await;
    // Without `on_lost = finish`, the body would be dropped at this await.
    tokio::task::yield_now().await;
    is_done.store(true, Ordering::SeqCst);
    Ok(7)
}

#[tokio::test]
async fn a_body_ends_although_its_lock_is_lost_and_the_call_says_so() {
    let (space, is_done) = (Space::new(), AtomicBool::new(false));
    let error = failed(soon(zklock::scope(space.client().await, migrate(&space, &is_done))).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{error}");
    assert!(is_done.load(Ordering::SeqCst));
}
