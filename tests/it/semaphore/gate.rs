//! The gate, which contenders pass one by one, and the contenders that lose their nodes there or behind it.

use std::time::Duration;

use zklock_testkit::wire::Opcode;

use super::{GATE, LEASES, held_before, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, failed, soon, until};

#[tokio::test]
async fn groups_whose_gate_is_deleted_under_them_do_not_wait_for_each_other_in_a_circle() {
    let space = Space::new();
    let (holder, mut first) = held_before(&space, 3, [3, 3]).await;
    let mut second = spawn_take(&semaphore(&space.client().await, 3), 3);
    space.until_queued(GATE, 2).await;
    // Without its gate node, the first contender could be inside together with the second one, and each could
    // have some of the permits that the other one wants.
    let mut queue = space.children(GATE).await;
    queue.sort_by_key(|name| name[name.len() - 10..].to_owned());
    let outsider = space.outsider().await;
    outsider.delete(&space.full(&format!("{GATE}/{}", queue[0])), None).await.unwrap();
    until(|| async { !space.children(GATE).await.contains(&queue[0]) }, "the gate is open").await;
    holder.release().await.unwrap();
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
    let space = Space::new();
    let (holder, waiting) = held_before(&space, 2, [1, 2]).await;
    let (gate, leases) = (space.children(GATE).await, space.children(LEASES).await);
    space.delete_children(GATE).await;
    let waits_again = async || {
        let (now, taken) = (space.children(GATE).await, space.children(LEASES).await);
        let is_again = now.len() == 1 && now != gate;
        is_again && taken.len() == 3 && taken.iter().filter(|name| leases.contains(name)).count() == 1
    };
    until(waits_again, "it waits again").await;
    assert!(holder.is_held());
    holder.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_waiter_at_the_gate_whose_node_is_deleted_enters_again() {
    let space = Space::new();
    let (guard, inside) = held_before(&space, 1, [1, 1]).await;
    let first = space.children(GATE).await;
    let waiting = spawn_take(&semaphore(&space.client().await, 1), 1);
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
    let (guard, first) = held_before(&space, 1, [1, 1]).await;
    let waiter = semaphore(&client, 1);
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
