//! `ExclusiveMutex` and Curator's `InterProcessSemaphoreMutex`.

use std::time::Duration;

use zklock::{Client, Standing};

use crate::contention::{Contest, Turn};
use crate::support::{Space, soon};

const PATH: &str = "/till";
/// The parent of the contenders that wait for their turn to take the permit.
const GATE: &str = "/till/locks";
/// The parent of the permit.
const PERMIT: &str = "/till/leases";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_rust_exclude_each_other() {
    let space = Space::new();
    let contest = Contest { recipe: "exclusive", path: PATH, modes: &["exclusive"], permits: 1 };
    let round = async |client: &Client, turn: Turn<'_>| {
        let guard = client.exclusive(PATH).unwrap().lock().await.unwrap();
        turn.section().await;
        guard.release().await.unwrap();
    };
    contest.run(&space, round).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_java_to_rust_to_java_in_the_order_of_the_queue() {
    let space = Space::new();
    let mut first = space.actor("exclusive", PATH).await;
    let mut third = space.actor("exclusive", PATH).await;
    let mutex = space.client("second").await.exclusive(PATH).unwrap();
    first.ask("acquire exclusive").await;
    let second = tokio::spawn(async move { mutex.lock().await.unwrap() });
    space.until_queued(PERMIT, 2).await;
    third.order("acquire exclusive");
    space.until_waits(GATE, space.peer().session_id(), 0).await;
    assert!(!second.is_finished());
    first.ask("release exclusive").await;
    let second = soon(second).await.unwrap();
    third.assert_busy();
    second.release().await.unwrap();
    third.answer().await;
    third.ask("release exclusive").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_rust_to_java_to_rust_in_the_order_of_the_queue() {
    let space = Space::new();
    let (first, last) = (space.client("first").await, space.client("third").await);
    let mut second = space.actor("exclusive", PATH).await;
    let first = first.exclusive(PATH).unwrap().lock().await.unwrap();
    second.order("acquire exclusive");
    space.until_queued(PERMIT, 2).await;
    let third = last.exclusive(PATH).unwrap();
    let third = tokio::spawn(async move { third.lock().await.unwrap() });
    space.until_waits(GATE, last.session_id(), 0).await;
    second.assert_busy();
    first.release().await.unwrap();
    second.answer().await;
    assert!(!third.is_finished());
    second.ask("release exclusive").await;
    soon(third).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tries_fail_while_the_other_side_holds_and_leave_nothing() {
    let space = Space::new();
    let mutex = space.client("ours").await.exclusive(PATH).unwrap();
    let mut theirs = space.actor("exclusive", PATH).await;
    let guard = mutex.try_lock().await.unwrap().expect("the lock is free");
    assert!(!theirs.try_acquire("exclusive", Duration::ZERO).await);
    guard.release().await.unwrap();
    assert!(theirs.try_acquire("exclusive", Duration::ZERO).await);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert_eq!((space.children(GATE).await.len(), space.children(PERMIT).await.len()), (0, 1));
    theirs.ask("release exclusive").await;
    assert!(space.children(PERMIT).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_list_the_same_participants() {
    let space = Space::new();
    let client = space.client("a holder in Rust").await;
    let mutex = client.exclusive(PATH).unwrap();
    let mut theirs = space.actor("exclusive", PATH).await;
    let guard = mutex.lock().await.unwrap();
    theirs.order("acquire exclusive");
    space.until_queued(PERMIT, 2).await;
    let listed = mutex.participants().await.unwrap();
    let mut observer = space.actor("exclusive", PATH).await;
    let mut seen = observer.participants("exclusive").await;
    // Curator lists permits in no particular order.
    seen.sort_by_key(|(node, _)| node[node.len() - 10..].to_owned());
    assert_eq!(space.listed(PERMIT, &listed), seen);
    let holders = listed.iter().filter(|one| one.path == PERMIT);
    let states: Vec<_> = holders.map(|one| (one.standing, Some(one.session_id))).collect();
    let java = space.peer().session_id();
    assert_eq!(states, [(Standing::Holds, client.session_id()), (Standing::Waits, java)]);
    assert_eq!(listed[0].identity, "a holder in Rust");
    guard.release().await.unwrap();
    theirs.answer().await;
    theirs.ask("release exclusive").await;
}
