//! `mode`: readers share a lock, writers do not.

use tokio::sync::Barrier;
use zklock::{FencingToken, LockError, WriteGuard, distributed_lock};

use crate::support::{Space, failed, soon};

#[distributed_lock(path = "/catalogue", mode = read, guard = held)]
async fn meet(others: &Barrier) -> Result<FencingToken, LockError> {
    others.wait().await;
    Ok(held.fencing_token())
}

#[tokio::test]
async fn readers_run_together() {
    let (space, [one, other]) = Space::with_clients().await;
    let others = Barrier::new(3);
    let calls = async {
        tokio::join!(
            zklock::scope(one.clone(), meet(&others)),
            zklock::scope(one.clone(), meet(&others)),
            zklock::scope(other.clone(), meet(&others)),
        )
    };
    let (a, b, c) = soon(calls).await;
    assert_ne!(a.unwrap(), b.unwrap(), "each call has its own contender");
    c.unwrap();
    space.until_empty("/catalogue").await;
}

#[distributed_lock(path = "/catalogue", mode = write, guard = held)]
async fn change(space: &Space) -> Result<(), LockError> {
    let _: &WriteGuard = held;
    let others = Barrier::new(2);
    let (one, other) = tokio::join!(meet(&others), meet(&others));
    assert_eq!([one?, other?], [held.fencing_token(); 2]);
    assert_eq!(space.children("/catalogue").await.len(), 1);
    assert!(held.is_held(), "the inner calls do not release");
    held.verify().await
}

#[tokio::test]
async fn a_reading_call_inside_of_a_writing_one_enters_without_another_contender() {
    let space = Space::new();
    soon(zklock::scope(space.client().await, change(&space))).await.unwrap();
    space.until_empty("/catalogue").await;
}

#[distributed_lock(path = "/catalogue", mode = read, guard = held)]
async fn upgrade(space: &Space) -> Result<LockError, LockError> {
    let error = failed(change(space).await);
    held.verify().await?;
    Ok(error)
}

#[tokio::test]
async fn a_writing_call_inside_of_a_reading_one_is_refused_without_waiting() {
    let space = Space::new();
    let error = soon(zklock::scope(space.client().await, upgrade(&space))).await.unwrap();
    assert!(matches!(&error, LockError::Upgrade { path, .. } if path == "/catalogue"), "{error}");
}
