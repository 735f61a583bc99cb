//! Warnings about calls that wait long.

use std::time::{Duration, Instant};

use zklock::LockError;

use crate::support::logs::{Loud, logged};
use crate::support::{Space, soon, until};

const AFTER: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_call_that_waits_long_is_logged_again_and_again_with_the_holder() {
    Loud::listen();
    let space = Space::new();
    let [path, silent] = ["line", "silent"].map(|name| format!("{}-{name}", space.namespace));
    let other = space.config().identity("billing-7").connect().await.unwrap();
    let client = space.config().warn_after(AFTER).connect().await.unwrap();
    let without = space.config().warn_after(Duration::MAX).connect().await.unwrap();
    let held = other.mutex(&path).unwrap().lock().await.unwrap();
    let silently_held = other.mutex(&silent).unwrap().lock().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for mutex in [without.mutex(&silent).unwrap(), client.mutex(&path).unwrap(), client.mutex(&path).unwrap()]
    {
        calls.spawn(async move { mutex.lock().await.unwrap().release().await });
    }
    let lines = || logged(&path);
    let is_told = |line: &String| line.contains("held by \"billing-7\"") && line.contains("calls=2 ");
    until(async || lines().iter().filter(|line| is_told(line)).count() > 1, "two lines have the holder")
        .await;
    let lines = lines();
    assert!(lines.iter().all(|line| line.contains("a call has waited long for its lock")), "{lines:?}");
    assert!(lines.last().unwrap().contains("phase=Queued"), "{lines:?}");
    assert_eq!(logged(&silent), [""; 0]);
    held.release().await.unwrap();
    silently_held.release().await.unwrap();
    while let Some(call) = soon(calls.join_next()).await {
        call.unwrap().unwrap();
    }
}

#[tokio::test]
async fn many_calls_for_several_permits_share_the_lines_of_their_path() {
    Loud::listen();
    let space = Space::new();
    let path = format!("{}-permits", space.namespace);
    let held = space.client().await.semaphore(&path, 2).unwrap().acquire().await.unwrap();
    let client = space.config().warn_after(AFTER).connect().await.unwrap();
    let begun = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let semaphore = client.semaphore(&path, 2).unwrap();
        // Each of these calls has a node of its own.
        calls.spawn(async move { semaphore.acquire_many_timeout(2, 10 * AFTER).await.map(drop) });
    }
    while let Some(call) = soon(calls.join_next()).await {
        assert!(call.unwrap().is_err_and(|error: LockError| error.is_timeout()));
    }
    let (lines, most) = (logged(&path), begun.elapsed().as_millis() / AFTER.as_millis());
    assert!(!lines.is_empty() && lines.len() as u128 <= most, "{most}: {lines:?}");
    assert!(lines.iter().all(|line| line.contains("calls=1 ")), "{lines:?}");
    held.release().await.unwrap();
}
