//! Warnings about calls that wait long.

use std::time::Duration;

use zklock::LockError;

use crate::support::logs::{Loud, logged};
use crate::support::{Space, soon, until};

const AFTER: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_long_wait_is_logged_once_with_the_holder() {
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
    until(async || !lines().is_empty(), "the wait is logged").await;
    tokio::time::sleep(3 * AFTER).await;
    let lines = lines();
    let [line] = &lines[..] else { panic!("one wait is the longest: {lines:?}") };
    for part in ["a call has waited long for its lock", "phase=Queued", "held by \"billing-7\"", "calls=2"] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(logged(&silent), [""; 0]);
    held.release().await.unwrap();
    silently_held.release().await.unwrap();
    while let Some(call) = soon(calls.join_next()).await {
        call.unwrap().unwrap();
    }
}

#[tokio::test]
async fn each_call_for_several_permits_is_logged_once_as_far_as_the_bound_allows() {
    Loud::listen();
    let space = Space::new();
    let path = format!("{}-permits", space.namespace);
    let held = space.client().await.semaphore(&path, 2).unwrap().acquire().await.unwrap();
    let client = space.config().warn_after(AFTER).connect().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..15 {
        let semaphore = client.semaphore(&path, 2).unwrap();
        // Each of these calls has a node of its own.
        calls.spawn(async move { semaphore.acquire_many_timeout(2, 4 * AFTER).await.map(drop) });
    }
    while let Some(call) = soon(calls.join_next()).await {
        assert!(call.unwrap().is_err_and(|error: LockError| error.is_timeout()));
    }
    let lines = logged(&path);
    // A client writes ten lines in ten seconds.
    assert_eq!(lines.len(), 10, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("calls=1")), "{lines:?}");
    held.release().await.unwrap();
}
