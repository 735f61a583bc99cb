//! The time for which a call waits for its lock.

use std::time::Duration;

use zklock::{LockError, MutexGuard, Phase, distributed_lock};

use crate::support::{Space, failed, soon};

const PATH: &str = "/jobs/nightly";

#[distributed_lock(path = "/jobs/{name}", wait = Duration::from_millis(millis))]
async fn for_millis(name: &str, millis: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/jobs/{name}")]
async fn by_default(name: &str) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/jobs/{name}", wait = forever)]
async fn patient(name: &str) -> Result<(), LockError> {
    Ok(())
}

/// Takes the lock with another client.
async fn taken(space: &Space) -> MutexGuard {
    space.client().await.mutex(PATH).unwrap().lock().await.unwrap()
}

#[track_caller]
fn assert_timed_out(result: Result<(), LockError>, within: Duration) {
    let error = failed(result);
    let LockError::Timeout { path, waited, phase, .. } = &error else { panic!("{error}") };
    assert_eq!((&path[..], *waited, *phase), (PATH, within, Phase::Queued));
}

#[tokio::test]
async fn a_wait_may_be_computed_from_the_arguments() {
    let space = Space::new();
    let holder = taken(&space).await;
    let client = space.client().await;
    let result = zklock::scope(client.clone(), for_millis("nightly", 500)).await;
    assert_timed_out(result, Duration::from_millis(500));
    space.until_queued(PATH, 1).await;
    holder.release().await.unwrap();
    zklock::scope(client, for_millis("nightly", u64::MAX)).await.unwrap();
}

#[tokio::test]
async fn a_computed_wait_of_zero_is_refused_before_anything_is_sent() {
    let space = Space::new();
    let error = failed(zklock::scope(space.client().await, for_millis("nightly", 0)).await);
    assert!(matches!(&error, LockError::InvalidWait { path, .. } if path == PATH), "{error}");
    assert_eq!(space.children("").await, [""; 0]);
}

#[tokio::test]
async fn forever_outlasts_the_default_of_the_client() {
    let space = Space::new();
    let holder = taken(&space).await;
    let short = Duration::from_millis(500);
    let client = space.config().default_wait(short).connect().await.unwrap();
    let waiter = tokio::spawn(zklock::scope(client.clone(), patient("nightly")));
    space.until_queued(PATH, 2).await;

    assert_timed_out(zklock::scope(client, by_default("nightly")).await, short);
    space.until_queued(PATH, 2).await;
    assert!(!waiter.is_finished());

    holder.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
}
