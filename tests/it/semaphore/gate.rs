//! The first contender is served first, whatever number of permits it wants, and whatever happens to the
//! gate.

use std::time::Duration;

use zklock_testkit::wire::Opcode;

use super::{GATE, LEASES, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon, until};

#[tokio::test]
async fn first_contender_is_served_first_whatever_it_wants() {
    let space = Space::new();
    let (one, two) = (semaphore(&space.client().await, 3), semaphore(&space.client().await, 3));
    let three = semaphore(&space.client().await, 3);
    let first = take(&one, 2).await;
    space.until_empty(GATE).await;
    // It has one of its three permits, and a second node that does not count yet.
    let large = spawn_take(&two, 3);
    space.until_queued(LEASES, 4).await;
    let mut waiting = Vec::new();
    for (place, semaphore) in [&one, &two, &three].into_iter().enumerate() {
        waiting.push(spawn_take(semaphore, 1));
        space.until_queued(GATE, place + 2).await;
    }
    first.release().await.unwrap();
    let large = soon(large).await.unwrap().unwrap();
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    let mut last = large.fencing_token();
    large.release().await.unwrap();
    for waiting in waiting {
        let guard = soon(waiting).await.unwrap().unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn groups_whose_gate_is_deleted_under_them_do_not_wait_for_each_other_in_a_circle() {
    let (space, [client, other]) = Space::with_clients().await;
    let holder = take(&semaphore(&client, 3), 3).await;
    space.until_empty(GATE).await;
    let first = spawn_take(&semaphore(&space.client().await, 3), 3);
    space.until_queued(LEASES, 4).await;
    let second = spawn_take(&semaphore(&other, 3), 3);
    space.until_queued(GATE, 2).await;
    // Without its gate node, the first contender could be inside together with the second one, and each could
    // have some of the permits that the other one wants.
    let mut queue = space.children(GATE).await;
    queue.sort_by_key(|name| name[name.len() - 10..].to_owned());
    let outsider = space.outsider().await;
    outsider.delete(&space.full(&format!("{GATE}/{}", queue[0])), None).await.unwrap();
    until(|| async { !space.children(GATE).await.contains(&queue[0]) }, "the gate is open").await;
    holder.release().await.unwrap();
    let (mut first, mut second) = (first, second);
    // Either of them may be first. The other one needs the permits of the first.
    let (guard, waiting) = soon(async {
        tokio::select! {
            guard = &mut first => (guard, second),
            guard = &mut second => (guard, first),
        }
    })
    .await;
    guard.unwrap().unwrap().release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_waiter_whose_gate_is_deleted_goes_through_it_again_and_keeps_nothing() {
    let (space, [client, other]) = Space::with_clients().await;
    let holder = take(&semaphore(&client, 2), 1).await;
    space.until_empty(GATE).await;
    let waiting = spawn_take(&semaphore(&other, 2), 2);
    space.until_queued(LEASES, 3).await;
    let (gate, leases) = (space.children(GATE).await, space.children(LEASES).await);
    space.delete_children(GATE).await;
    until(
        || async {
            let (now, taken) = (space.children(GATE).await, space.children(LEASES).await);
            let is_again = now.len() == 1 && now != gate;
            is_again && taken.len() == 3 && taken.iter().filter(|name| leases.contains(name)).count() == 1
        },
        "it waits again",
    )
    .await;
    assert!(holder.is_held());
    holder.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_waiter_at_the_gate_whose_node_is_deleted_enters_again() {
    let space = Space::new();
    let (holder, waiter) = (semaphore(&space.client().await, 1), semaphore(&space.client().await, 1));
    let guard = take(&holder, 1).await;
    space.until_empty(GATE).await;
    let inside = spawn_take(&semaphore(&space.client().await, 1), 1);
    space.until_queued(LEASES, 2).await;
    let first = space.children(GATE).await;
    let waiting = spawn_take(&waiter, 1);
    space.until_queued(GATE, 2).await;
    let behind: Vec<_> =
        space.children(GATE).await.into_iter().filter(|name| !first.contains(name)).collect();
    let outsider = space.outsider().await;
    outsider.delete(&space.full(&format!("{GATE}/{}", behind[0])), None).await.unwrap();
    guard.release().await.unwrap();
    soon(inside).await.unwrap().unwrap().release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_wait_that_ends_right_behind_the_gate_was_a_wait_behind_others() {
    let (space, proxy, client) = Space::with_proxy().await;
    let (holder, waiter) = (semaphore(&space.client().await, 1), semaphore(&client, 1));
    let guard = take(&holder, 1).await;
    space.until_empty(GATE).await;
    let first = spawn_take(&semaphore(&space.client().await, 1), 1);
    space.until_queued(LEASES, 2).await;
    let waiting = tokio::spawn(async move { waiter.acquire_timeout(Duration::from_secs(2)).await });
    space.until_queued(GATE, 2).await;
    // The next create is that of the permit, which the waiter sends behind the gate.
    let held = proxy.on_request(Opcode::CREATE2).always().hold();
    guard.release().await.unwrap();
    let first = soon(first).await.unwrap().unwrap();
    soon(held.struck()).await;
    let error = failed(soon(waiting).await.unwrap());
    assert!(error.is_timeout() && error.is_contended(), "{error}");
    held.release();
    first.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
