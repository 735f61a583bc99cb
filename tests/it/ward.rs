//! Many locks that one client holds, and the ways in which it learns that their nodes are gone.
//!
//! A roll call comes every ten seconds, for which some tests wait.

use futures_util::future::join_all;
use tokio::task::JoinSet;
use zklock::{Client, LeaseState, LossReason, MutexGuard};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy};

use crate::support::{Space, soon, until};

/// More locks than there is room for watches on nodes with such long paths.
const LOCKS: usize = 200;

fn path(number: usize) -> String {
    format!("/{}/{number}", "x".repeat(800))
}

async fn hold_many(client: &Client) -> Vec<MutexGuard> {
    let locks = (0..LOCKS).map(async |number| client.mutex(path(number)).unwrap().lock().await.unwrap());
    soon(join_all(locks)).await
}

async fn until_roll_calls(proxy: &Proxy, count: u64) {
    until(async || proxy.replies(Opcode::GET_EPHEMERALS) >= count, "the client calls the roll").await;
}

#[cfg(soak)]
#[tokio::test]
async fn locks_without_watches_are_asked_for_together_and_cost_no_other_requests() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let guards = hold_many(&client).await;
    until_roll_calls(&proxy, 1).await;
    let requests =
        || [Opcode::EXISTS, Opcode::GET_DATA, Opcode::GET_CHILDREN].map(|code| proxy.requests(code));
    let before = requests();
    until_roll_calls(&proxy, 2).await;
    assert_eq!(requests(), before);
    assert!(guards.iter().all(|guard| guard.is_held()));
}

#[tokio::test]
async fn the_queue_of_a_lock_without_a_watch_is_not_listed_again_for_the_calls_that_wait() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let _guards = hold_many(&client).await;
    let waiting: JoinSet<_> = (0..LOCKS)
        .map(|number| {
            let lock = client.mutex(path(number)).unwrap();
            async move { lock.lock().await.unwrap() }
        })
        .collect();
    until_roll_calls(&proxy, 1).await;
    let before = proxy.requests(Opcode::GET_CHILDREN);
    until_roll_calls(&proxy, 2).await;
    assert_eq!(proxy.requests(Opcode::GET_CHILDREN), before);
    assert_eq!(waiting.len(), LOCKS);
}

#[tokio::test]
async fn a_node_without_a_watch_that_is_deleted_is_noticed_by_the_roll_call() {
    let space = Space::new();
    let mut guards = hold_many(&space.client().await).await;
    let kept = guards.split_off(LOCKS / 2);
    join_all((0..LOCKS / 2).map(async |number| space.delete_children(&path(number)).await)).await;
    for reason in join_all(guards.iter().map(|guard| soon(guard.lost()))).await {
        assert_eq!(reason, LossReason::NodeDeleted);
    }
    assert!(kept.iter().all(|guard| guard.is_held()));
}

#[tokio::test]
async fn a_watch_that_fires_when_there_is_no_room_for_another_one_tells_the_loss_at_once() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    // Its watch is the one of the list at its entry.
    let first = client.mutex("/first").unwrap().lock().await.unwrap();
    let _others = hold_many(&client).await;
    let _no_roll_call = proxy.on_request(Opcode::GET_EPHEMERALS).hold();
    space.delete_children("/first").await;
    assert_eq!(soon(first.lost()).await, LossReason::NodeDeleted);
}

#[tokio::test]
async fn many_locks_are_verified_by_one_roll_call_after_a_reconnect() {
    let space = Space::new();
    let (proxy, client) = space.proxied().await;
    let guards = hold_many(&client).await;
    let requests = || (proxy.requests(Opcode::EXISTS), proxy.requests(Opcode::GET_EPHEMERALS));
    let before = requests();
    let is = |state: LeaseState| guards.iter().all(|guard| guard.state() == state);
    proxy.refuse();
    proxy.cut(How::Rst);
    until(async || is(LeaseState::Suspended), "all locks are in doubt").await;
    proxy.heal();
    until(async || is(LeaseState::Held), "all locks are held again").await;
    let after = requests();
    // The regular roll call may come as well.
    assert!((1..=2).contains(&(after.1 - before.1)), "{before:?} {after:?}");
    assert!(after.0 - before.0 < 10, "{before:?} {after:?}");
}

#[tokio::test]
async fn the_node_that_replaces_a_writers_is_watched_too() {
    let space = Space::new();
    let guard = space.client().await.rwlock("/a").unwrap().write().await.unwrap();
    let guard = guard.downgrade().await.unwrap();
    space.delete_children("/a").await;
    assert_eq!(soon(guard.lost()).await, LossReason::NodeDeleted);
}

#[tokio::test]
async fn a_writer_that_waited_and_lets_readers_in_at_once_keeps_the_lock() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let [ours, theirs] = [&client, &other].map(|client| client.rwlock("/a").unwrap());
    for _ in 0..5 {
        let held = theirs.read().await.unwrap();
        let waiting = tokio::spawn({
            let ours = ours.clone();
            async move { ours.write().await.unwrap().downgrade().await.unwrap() }
        });
        space.until_queued("/a", 2).await;
        let is_watched = async || {
            let nodes = space.children("/a").await;
            nodes.iter().any(|node| space.is_watched(&format!("/a/{node}")))
        };
        until(is_watched, "it waits").await;
        held.release().await.unwrap();
        let reader = soon(waiting).await.unwrap();
        reader.verify().await.unwrap();
        reader.release().await.unwrap();
    }
}

#[tokio::test]
async fn writers_without_a_watch_let_readers_in_after_a_reconnect_and_release() {
    let space = Space::new();
    let ((proxy, client), other) = (space.proxied().await, space.client().await);
    let _others = hold_many(&client).await;
    let path = |name: &str| format!("/{}/{name}", "y".repeat(800));
    let lock = |client: &Client, name: &str| client.rwlock(path(name)).unwrap();
    let (writer, other_writer) = (lock(&client, "a"), lock(&client, "b"));
    let guards = (writer.write().await.unwrap(), other_writer.write().await.unwrap());
    let is = |state: LeaseState| guards.0.state() == state && guards.1.state() == state;
    proxy.refuse();
    proxy.cut(How::Rst);
    until(async || is(LeaseState::Suspended), "the locks are in doubt").await;
    proxy.heal();
    until(async || is(LeaseState::Held), "the locks are held again").await;
    // One is downgraded, and both are released.
    let reading = soon(guards.0.downgrade()).await.unwrap();
    soon(lock(&other, "a").read()).await.unwrap().release().await.unwrap();
    assert!(lock(&other, "a").try_write().await.unwrap().is_none());
    assert!(lock(&other, "b").try_read().await.unwrap().is_none());
    soon(reading.release()).await.unwrap();
    soon(guards.1.release()).await.unwrap();
    for name in ["a", "b"] {
        space.until_empty(&path(name)).await;
    }
}

#[tokio::test]
async fn the_node_of_a_downgraded_writer_without_a_watch_is_asked_for() {
    let space = Space::new();
    let client = space.client().await;
    let _others = hold_many(&client).await;
    let path = format!("/{}/a", "y".repeat(800));
    let writing = client.rwlock(&path).unwrap().write().await.unwrap();
    let reading = soon(writing.downgrade()).await.unwrap();
    space.delete_children(&path).await;
    assert_eq!(soon(reading.lost()).await, LossReason::NodeDeleted);
}

#[tokio::test]
async fn members_without_watches_are_released() {
    let space = Space::new();
    let client = space.client().await;
    let _others = hold_many(&client).await;
    let paths = ["a", "b", "c"].map(|name| format!("/{}/{name}", "y".repeat(800)));
    let multi = client.multi(paths.clone()).unwrap();
    let guard = soon(multi.lock()).await.unwrap();
    guard.verify().await.unwrap();
    soon(guard.release()).await.unwrap();
    for path in &paths {
        space.until_empty(path).await;
    }
}
