//! Bodies that run to their end even if their lock is lost.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;
use zklock::{LockError, LossReason, distributed_lock};

use super::Tracer;
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

#[distributed_lock(path = "/outer", on_lost = finish, guard = held)]
async fn outer() -> Result<bool, LockError> {
    let token = held.fencing_token();
    Ok(inner().await? == token)
}

#[distributed_lock(path = "/outer", on_lost = finish, guard = held)]
async fn inner() -> Result<zklock::FencingToken, LockError> {
    Ok(held.fencing_token())
}

#[tokio::test]
async fn a_call_inside_of_a_body_that_runs_to_its_end_enters_its_lock_again() {
    let space = Space::new();
    assert!(soon(zklock::scope(space.client().await, outer())).await.unwrap());
    space.until_empty("/outer").await;
}

#[distributed_lock(path = "/endless", on_lost = finish)]
async fn endless(started: oneshot::Sender<()>, _tracer: Tracer) -> Result<(), LockError> {
    started.send(()).expect("the test waits for the start");
    std::future::pending().await
}

#[tokio::test]
async fn dropping_the_call_drops_the_body_that_would_run_to_its_end() {
    let space = Space::new();
    let ((tracer, dropped), (start, started)) = (Tracer::new(), oneshot::channel());
    let call = zklock::scope(space.client().await, endless(start, tracer));
    tokio::select! {
        result = call => panic!("an endless body ended: {result:?}"),
        started = soon(started) => started.unwrap(),
    }
    assert!(dropped.load(Ordering::SeqCst));
    space.until_empty("/endless").await;
}
