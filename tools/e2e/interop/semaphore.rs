//! `Semaphore` and Curator's `InterProcessSemaphoreV2`, with three permits.

use zklock::Permits;

use crate::locks::{GATE, PATH, PERMITS};
use crate::support::{Space, soon};

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
