//! Nodes that an outsider deletes, and sessions that end, under holders and waiters.

use super::{GATE, LEASES, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, soon, until};

#[tokio::test]
async fn a_waiter_that_loses_a_permit_it_had_already_takes_all_of_them_anew() {
    let (space, [client, other]) = Space::with_clients().await;
    let guard = take(&semaphore(&client, 3), 2).await;
    let held = space.children(LEASES).await;
    let waiting = spawn_take(&semaphore(&other, 3), 3);
    space.until_queued(LEASES, 4).await;
    let mut own: Vec<_> =
        space.children(LEASES).await.into_iter().filter(|name| !held.contains(name)).collect();
    own.sort_by_key(|name| name[name.len() - 10..].to_owned());
    let outsider = space.outsider().await;
    let first = format!("{LEASES}/{}", own[0]);
    // From then on, the waiter learns of the end of its permit before it learns of later releases.
    until(|| async { space.is_watched(&first) }, "the waiter watches what it has").await;
    outsider.delete(&space.full(&first), None).await.unwrap();
    guard.release().await.unwrap();
    let all = soon(waiting).await.unwrap().unwrap();
    all.verify().await.unwrap();
    space.until_queued(LEASES, 3).await;
    assert!(!space.children(LEASES).await.contains(&own[0]));
    all.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn waiters_whose_session_ends_enter_both_queues_again() {
    let (space, [client, other]) = Space::with_clients().await;
    let guard = take(&semaphore(&client, 2), 2).await;
    space.until_empty(GATE).await;
    let inside = spawn_take(&semaphore(&other, 2), 2);
    space.until_queued(LEASES, 3).await;
    let at_the_gate = spawn_take(&semaphore(&other, 2), 1);
    space.until_queued(GATE, 2).await;
    let (gate, leases) = (space.children(GATE).await, space.children(LEASES).await);
    space.end_session_of(&other);
    let are_again = async || {
        let (now, taken) = (space.children(GATE).await, space.children(LEASES).await);
        let are_others = now.len() == 2 && now.iter().all(|name| !gate.contains(name));
        are_others && taken.len() == 3 && taken != leases
    };
    until(are_again, "both are in their queues again").await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    // The contender that came back first is served first, and makes room for the other.
    let release = async |waiting: tokio::task::JoinHandle<_>| {
        let guard: Result<zklock::SemaphoreGuard, _> = soon(waiting).await.unwrap();
        guard.unwrap().release().await.unwrap();
    };
    tokio::join!(release(inside), release(at_the_gate));
    until_nothing_is_left(&space).await;
}
