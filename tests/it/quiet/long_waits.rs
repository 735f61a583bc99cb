//! Warnings about calls that wait long.

use std::time::Duration;

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
async fn calls_for_several_permits_are_logged_once_together() {
    Loud::listen();
    let space = Space::new();
    let path = format!("{}-permits", space.namespace);
    let _held = space.client().await.semaphore(&path, 2).unwrap().acquire().await.unwrap();
    let client = space.config().warn_after(AFTER).connect().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let semaphore = client.semaphore(&path, 2).unwrap();
        calls.spawn(async move { semaphore.acquire_many(2).await.map(drop) });
    }
    until(async || !logged(&path).is_empty(), "the wait is logged").await;
    tokio::time::sleep(3 * AFTER).await;
    let lines = logged(&path);
    let [line] = &lines[..] else { panic!("one wait is the longest: {lines:?}") };
    assert!(line.contains("calls=50"), "{line}");
    calls.shutdown().await;
}
