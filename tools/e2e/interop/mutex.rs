//! `Mutex` and Curator's `InterProcessMutex`.

use std::time::Duration;

use zklock::Client;

use crate::contention::{Contest, Turn};
use crate::support::{Space, soon};

const PATH: &str = "/ledger";

const CONTEST: Contest<'_> = Contest { recipe: "mutex", path: PATH, modes: &["exclusive"], permits: 1 };

async fn round(client: &Client, turn: Turn<'_>) {
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    turn.section().await;
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_rust_exclude_each_other() {
    let space = Space::new();
    CONTEST.run(&space, round).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_of_one_client_let_java_in_after_64_sections_at_most() {
    let space = Space::new();
    let entered = CONTEST.run_with_tasks(&space, 30, round).await;
    // As long as Java competes, the sections in Rust are turns between sections in Java.
    let is_java = |name: &String| name.starts_with("java");
    let (first, last) = (entered.iter().position(is_java), entered.iter().rposition(is_java));
    let competing = &entered[first.unwrap()..=last.unwrap()];
    let runs = competing.split(is_java).map(<[_]>::len);
    assert!(runs.clone().max() > Some(1) && runs.max() <= Some(64), "{competing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_java_to_rust_to_java_in_the_order_of_the_queue() {
    let space = Space::new();
    let mut first = space.actor("mutex", PATH).await;
    let mut third = space.actor("mutex", PATH).await;
    let client = space.client("second").await;
    let mutex = client.mutex(PATH).unwrap();
    first.ask("acquire exclusive").await;
    let second = tokio::spawn(async move { mutex.lock().await.unwrap() });
    space.until_waits(PATH, client.session_id(), 0).await;
    third.order("acquire exclusive");
    space.until_waits(PATH, space.peer().session_id(), 1).await;
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
    let mut second = space.actor("mutex", PATH).await;
    let first = first.mutex(PATH).unwrap().lock().await.unwrap();
    second.order("acquire exclusive");
    space.until_waits(PATH, space.peer().session_id(), 0).await;
    let third = last.mutex(PATH).unwrap();
    let third = tokio::spawn(async move { third.lock().await.unwrap() });
    space.until_waits(PATH, last.session_id(), 1).await;
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
    let mutex = space.client("ours").await.mutex(PATH).unwrap();
    let mut theirs = space.actor("mutex", PATH).await;
    let guard = mutex.try_lock().await.unwrap().expect("the lock is free");
    assert!(!theirs.try_acquire("exclusive", Duration::ZERO).await);
    assert_eq!(space.children(PATH).await.len(), 1);
    guard.release().await.unwrap();
    assert!(theirs.try_acquire("exclusive", Duration::ZERO).await);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert_eq!(space.children(PATH).await.len(), 1);
    theirs.ask("release exclusive").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_list_the_same_participants_in_the_same_order() {
    let space = Space::new();
    let client = space.client("a holder in Rust").await;
    let mutex = client.mutex(PATH).unwrap();
    let mut theirs = space.actor("mutex", PATH).await;
    let guard = mutex.lock().await.unwrap();
    theirs.order("acquire exclusive");
    space.until_queued(PATH, 2).await;
    let mut observer = space.actor("mutex", PATH).await;
    let (seen, listed) = (observer.participants("exclusive").await, mutex.participants().await.unwrap());
    assert_eq!(space.listed(PATH, &listed), seen);
    assert_eq!(listed[0].identity, "a holder in Rust");
    let sessions: Vec<_> = listed.iter().map(|participant| Some(participant.session_id)).collect();
    assert_eq!(sessions, [client.session_id(), space.peer().session_id()]);
    assert_eq!(listed[0].fencing_token, guard.fencing_token());
    guard.release().await.unwrap();
    theirs.answer().await;
    theirs.ask("release exclusive").await;
}
