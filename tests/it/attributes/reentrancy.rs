//! Holds follow the logical call.

use tokio::task::JoinHandle;
use zklock::{FencingToken, LockError, distributed_lock};

use super::Room;
use crate::support::{Space, failed, soon};

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

#[distributed_lock(path = "/depth", guard = held)]
async fn descend(depth: u32, space: &Space) -> Result<Vec<FencingToken>, LockError> {
    let mut tokens = match depth {
        0 => Vec::new(),
        _ => Box::pin(descend(depth - 1, space)).await?,
    };
    assert_eq!(space.children("/depth").await.len(), 1);
    tokens.push(held.fencing_token());
    Ok(tokens)
}

#[tokio::test]
async fn recursion_enters_the_same_lock_at_every_depth() {
    let space = Space::new();
    let tokens = zklock::scope(space.client().await, descend(5, &space)).await.unwrap();
    assert_eq!(tokens, [tokens[0]; 6]);
    space.until_empty("/depth").await;
}

#[distributed_lock(path = "/family", guard = held)]
async fn child(room: &Room) -> Token {
    room.visit().await;
    Ok(held.fencing_token())
}

#[distributed_lock(path = "/family", guard = held)]
async fn parent(room: &Room) -> Result<(), LockError> {
    let (one, other) = tokio::join!(child(room), child(room));
    assert_eq!([one?, other?], [held.fencing_token(); 2]);
    Ok(())
}

#[tokio::test]
async fn siblings_under_one_holder_exclude_each_other() {
    let space = Space::new();
    soon(zklock::scope(space.client().await, parent(&Room::default()))).await.unwrap();
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

#[tokio::test]
async fn a_task_of_tokio_is_a_stranger_and_waits() {
    let space = Space::new();
    let client = space.client().await;
    let call = spawning(|| tokio::spawn(zklock::scope(client.clone(), task())));
    let (_, spawned) = zklock::scope(client.clone(), call).await.unwrap();
    assert!(failed(spawned).is_contended());
    space.until_empty("/tasks").await;
}
