//! Members and the other calls of their client.

use zklock::Member;
use zklock_testkit::wire::Opcode;

use super::{A, B, C, lock, queues, spawn_lock, until_nothing_is_left};
use crate::support::{Space, soon, spawn_lock_of, until_in_line};

#[tokio::test]
async fn a_member_that_another_call_of_the_client_holds_is_passed_on_in_memory() {
    let (space, proxy, client) = Space::with_proxy().await;
    let mutex = client.mutex(B).unwrap();
    let held = mutex.lock().await.unwrap();
    let token = held.fencing_token();
    let before = proxy.requests(Opcode::CREATE2);
    let waiting = spawn_lock(&client, &[A, B]);
    until_in_line(&mutex, 1).await;
    held.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token(B) > Some(token));
    guard.verify().await.unwrap();
    // The queue of the first member did not exist.
    assert!(proxy.requests(Opcode::CREATE2) - before <= 2);
    assert_eq!(queues(&space).await, [1, 1, 0]);
}

#[tokio::test]
async fn a_member_is_passed_on_to_another_call_of_the_client_in_memory() {
    let (_space, proxy, client) = Space::with_proxy().await;
    let guard = lock(&client, &[A, B]).await;
    let token = guard.fencing_token(B);
    let mutex = client.mutex(B).unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    let before = proxy.requests(Opcode::CREATE2);
    let waiting = spawn_lock_of(&mutex);
    until_in_line(&mutex, 1).await;
    guard.release().await.unwrap();
    let next = soon(waiting).await.unwrap();
    assert!(Some(next.fencing_token()) > token);
    assert_eq!(proxy.requests(Opcode::CREATE2), before);
}

#[tokio::test]
async fn a_member_that_is_entered_again_inside_stays_when_the_others_are_given_back() {
    let (space, client) = Space::with_client().await;
    let guard = client.lock_all([Member::mutex(A), Member::write(B), Member::mutex(C)]).await.unwrap();
    let again = guard.scope(async { client.rwlock(B).unwrap().read().await.unwrap() }).await;
    drop(guard);
    space.until_empty(A).await;
    space.until_empty(C).await;
    // The writer has become a reader.
    let other = space.client().await;
    soon(other.rwlock(B).unwrap().read()).await.unwrap().release().await.unwrap();
    again.verify().await.unwrap();
    assert_eq!(queues(&space).await, [0, 1, 0]);
    again.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
