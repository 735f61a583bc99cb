//! Holds follow the logical call.

use tokio::task::JoinHandle;
use zklock::{FencingToken, LockError, distributed_lock};

use crate::support::Space;

type Token = Result<FencingToken, LockError>;

#[distributed_lock(path = "/ledger", guard = held)]
async fn inner() -> Token {
    Ok(held.fencing_token())
}

#[distributed_lock(path = "/ledger", guard = held)]
async fn outer(space: &Space) -> Result<(FencingToken, FencingToken), LockError> {
    let token = inner().await?;
    assert_eq!(space.children("/ledger").await.len(), 1);
    assert!(held.is_held(), "the inner call does not release");
    Ok((held.fencing_token(), token))
}

#[tokio::test]
async fn a_nested_call_enters_the_same_lock_without_another_contender() {
    let space = Space::new();
    let (outside, inside) = zklock::scope(space.client().await, outer(&space)).await.unwrap();
    assert_eq!(outside, inside);
    space.until_empty("/ledger").await;
}

#[tokio::test]
async fn a_call_inside_of_a_guards_scope_enters_the_same_lock() {
    let space = Space::new();
    let client = space.client().await;
    let guard = client.mutex("/ledger").unwrap().lock().await.unwrap();
    let token = zklock::scope(client, guard.scope(inner())).await.unwrap();
    assert_eq!(token, guard.fencing_token());
}

#[distributed_lock(path = "/tasks", wait = "1s", guard = held)]
async fn task() -> Token {
    Ok(held.fencing_token())
}

#[distributed_lock(path = "/tasks", guard = held)]
async fn spawning<F: Fn() -> JoinHandle<Token>>(spawn: F) -> Result<(FencingToken, Token), LockError> {
    let spawned = spawn().await.expect("the task ends on its own");
    Ok((held.fencing_token(), spawned))
}

#[tokio::test]
async fn a_task_of_zklock_inherits_the_lock_and_the_client() {
    let space = Space::new();
    let call = spawning(|| zklock::spawn(task()));
    let (token, spawned) = zklock::scope(space.client().await, call).await.unwrap();
    assert_eq!(token, spawned.unwrap());
}
