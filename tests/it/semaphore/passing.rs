//! Permits that a client passes on to its next call, if there are several. `contract::passing` has the rest.

use std::time::Duration;

use zklock::{Client, LockError, Queueing};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use super::{GATE, LEASES, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon, until_waiting_here};

/// Connects a client through its own proxy, whose turns no test outlasts.
pub(super) async fn patient(space: &Space) -> (Proxy, Client) {
    let queueing = Queueing::new(64, Duration::from_secs(60));
    space.proxied_with(|config| config.queueing(queueing)).await
}

/// Waits until this many calls of the client wait in line.
pub(super) async fn until_in_line(client: &Client, of: u32, count: u32) {
    let semaphore = semaphore(client, of);
    until_waiting_here(async || semaphore.participants().await, count).await;
}

#[tokio::test]
async fn a_second_call_and_a_try_of_a_client_with_one_of_three_permits_get_one_each() {
    let space = Space::new();
    let (proxy, client) = patient(&space).await;
    let semaphore = semaphore(&client, 3);
    let first = take(&semaphore, 1).await;
    let second = take(&semaphore, 1).await;
    let third = semaphore.try_acquire().await.unwrap().expect("one is free");
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    space.until_queued(LEASES, 3).await;
    let waiting = spawn_take(&semaphore, 1);
    until_in_line(&client, 3, 1).await;
    // The client has all permits, and no contender.
    let creates = proxy.requests(Opcode::CREATE2);
    for _ in 0..100 {
        assert!(semaphore.try_acquire().await.unwrap().is_none());
    }
    assert_eq!(proxy.requests(Opcode::CREATE2), creates);
    second.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().handoff(), 1);
    for guard in [first, third, guard] {
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn an_error_of_a_contender_is_that_of_all_calls_in_line() {
    let (space, [client, other]) = Space::with_clients().await;
    let guard = take(&semaphore(&other, 3), 1).await;
    let (release, first) = {
        // The gate is taken, so that all calls are in line when the first contender is refused.
        let inside = take(&semaphore(&other, 3), 2).await;
        let first = spawn_take(&semaphore(&other, 3), 1);
        space.until_queued(LEASES, 4).await;
        (inside, first)
    };
    let waiters = [(); 5].map(|()| spawn_take(&semaphore(&client, 2), 1));
    space.until_queued(GATE, 2).await;
    release.release().await.unwrap();
    for waiter in waiters {
        let error = failed(soon(waiter).await.unwrap());
        assert!(matches!(error, LockError::PermitsDiffer { ours: 2, theirs: 3, .. }), "{error}");
    }
    soon(first).await.unwrap().unwrap().release().await.unwrap();
    guard.release().await.unwrap();
    take(&semaphore(&client, 2), 1).await.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
