//! `Semaphore` and Curator's `InterProcessSemaphoreV2`, with three permits.

use std::time::Duration;

use zklock::{Client, Permits, Standing};

use crate::contention::{Contest, Turn};
use crate::support::{Space, soon};

const PATH: &str = "/pool";
/// The parent of the contenders that wait for their turn to take permits.
const GATE: &str = "/pool/locks";
/// The parent of the permits.
const PERMITS: &str = "/pool/leases";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_of_java_and_rust_hold_and_never_more() {
    let space = Space::new();
    let contest = Contest { recipe: "semaphore", path: PATH, modes: &["1"], permits: 3 };
    let round = async |client: &Client, turn: Turn<'_>| {
        let guard = client.semaphore(PATH, 3).unwrap().acquire().await.unwrap();
        turn.section().await;
        guard.release().await.unwrap();
    };
    contest.run(&space, round).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_share_three_permits_and_their_tries_leave_nothing() {
    let space = Space::new();
    let semaphore = space.client("ours").await.semaphore(PATH, 3).unwrap();
    let mut theirs = space.actor("semaphore", PATH).await;
    let mut other = space.actor("semaphore", PATH).await;
    let ours = semaphore.try_acquire().await.unwrap().expect("three are free");
    assert!(theirs.try_acquire("2", Duration::from_secs(20)).await);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert!(!other.try_acquire("1", Duration::ZERO).await);
    ours.release().await.unwrap();
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    assert!(!other.try_acquire("2", Duration::ZERO).await);
    assert_eq!((space.children(GATE).await.len(), space.children(PERMITS).await.len()), (0, 2));
    theirs.ask("release 2").await;
    let ours = semaphore.try_acquire_many(3).await.unwrap().expect("three are free");
    assert!(!other.try_acquire("1", Duration::ZERO).await);
    ours.release().await.unwrap();
    assert!(space.children(PERMITS).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_for_several_permits_waits_for_the_other_side_and_comes_first() {
    let space = Space::new();
    let client = space.client("ours").await;
    let mut theirs = space.actor("semaphore", PATH).await;
    let mut last = space.actor("semaphore", PATH).await;
    let ours = client.semaphore(PATH, 3).unwrap().acquire_many(2).await.unwrap();
    theirs.order("acquire 2");
    // Java has one of its two permits, and waits for the other.
    space.until_queued(PERMITS, 4).await;
    let second = space.client("ours, too").await;
    let semaphore = second.semaphore(PATH, 3).unwrap();
    let waiting = tokio::spawn(async move { semaphore.acquire_many(2).await.unwrap() });
    space.until_waits(GATE, second.session_id(), 0).await;
    last.order("acquire 1");
    space.until_waits(GATE, space.peer().session_id(), 1).await;
    theirs.assert_busy();
    ours.release().await.unwrap();
    theirs.answer().await;
    last.assert_busy();
    assert!(!waiting.is_finished());
    theirs.ask("release 2").await;
    let ours = soon(waiting).await.unwrap();
    last.answer().await;
    ours.release().await.unwrap();
    last.ask("release 1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn either_side_changes_the_number_of_permits_that_both_share() {
    let space = Space::new();
    let client = space.client("ours").await;
    let semaphore = client.semaphore(PATH, Permits::shared(format!("{PATH}-permits"), 3)).unwrap();
    let mut theirs = space.actor("shared", PATH).await;
    theirs.ask("share 1").await;
    let first = semaphore.acquire().await.unwrap();
    theirs.order("acquire 1");
    space.until_queued(PERMITS, 2).await;
    theirs.assert_busy();
    semaphore.set_permits(2).await.unwrap();
    theirs.answer().await;
    let second = semaphore.clone();
    let second = tokio::spawn(async move { second.acquire().await.unwrap() });
    space.until_queued(PERMITS, 3).await;
    assert!(!second.is_finished());
    theirs.ask("share 3").await;
    soon(second).await.unwrap().release().await.unwrap();
    first.release().await.unwrap();
    theirs.ask("release 1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_list_the_same_holders_of_permits() {
    let space = Space::new();
    let client = space.client("a holder in Rust").await;
    let semaphore = client.semaphore(PATH, 3).unwrap();
    let mut theirs = space.actor("semaphore", PATH).await;
    let ours = semaphore.acquire().await.unwrap();
    theirs.ask("acquire 1").await;
    let listed = semaphore.participants().await.unwrap();
    let mut seen = theirs.participants("1").await;
    // Curator lists permits in no order.
    seen.sort_by_key(|(node, _)| node[node.len() - 10..].to_owned());
    assert_eq!(space.listed(PERMITS, &listed), seen);
    let sessions: Vec<_> = listed.iter().map(|one| Some(one.session_id)).collect();
    assert_eq!(sessions, [client.session_id(), space.peer().session_id()]);
    assert!(listed.iter().all(|one| one.standing == Standing::Holds));
    assert_eq!(listed[0].identity, "a holder in Rust");
    ours.release().await.unwrap();
    theirs.ask("release 1").await;
}
