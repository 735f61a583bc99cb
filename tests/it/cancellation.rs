//! Acquisitions and releases that are dropped leave nothing behind.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use zklock::{LockError, MutexGuard};

use crate::support::{Space, polled, soon, until};

const PATH: &str = "/reports/weekly";

#[tokio::test]
async fn a_lock_granted_to_a_caller_that_is_gone_goes_to_the_next() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    {
        let mut lock = pin!(mutex.lock());
        // The grant is on its way or has arrived, and the caller never polls again.
        let _granted = poll_once(lock.as_mut()).await;
        until(|| async { mutex.participants().await.unwrap().len() == 1 }, "the contender is there").await;
    }
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}

/// Polls once, and returns the result if this thread stood still for so long that it has arrived.
async fn poll_once(
    mut lock: Pin<&mut impl Future<Output = Result<MutexGuard, LockError>>>,
) -> Poll<Result<MutexGuard, LockError>> {
    poll_fn(|context| Poll::Ready(lock.as_mut().poll(context))).await
}

#[tokio::test]
async fn many_tries_and_timeouts_leave_neither_nodes_nor_watches() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let mutex = other.mutex(PATH).unwrap();
    for _ in 0..20 {
        assert!(mutex.try_lock().await.unwrap().is_none());
        assert!(mutex.lock_timeout(Duration::from_millis(1)).await.is_err());
    }
    space.until_queued(PATH, 1).await;
    guard.release().await.unwrap();
    let watches = || space.server().four_letter("wchp").unwrap();
    let below = space.full(&format!("{PATH}/"));
    until(|| async { !watches().contains(&below) }, "no watch is left").await;
}

#[tokio::test]
async fn an_aborted_task_releases_the_guard_that_it_holds() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let holder = mutex.clone();
    let holder = tokio::spawn(async move {
        let _guard = holder.lock().await.unwrap();
        std::future::pending::<()>().await;
    });
    space.until_queued(PATH, 1).await;
    holder.abort();
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_release_whose_future_is_dropped_goes_on() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    for polls in 0..3 {
        let guard = mutex.lock().await.unwrap();
        polled(guard.release(), polls).await;
        space.until_empty(PATH).await;
    }
}

#[tokio::test]
async fn a_body_that_panics_releases_its_lock() {
    let space = Space::new();
    let mutex = space.client().await.mutex(PATH).unwrap();
    let panicking = mutex.clone();
    let task = tokio::spawn(async move { panicking.run(async |_| panic!("a bug of the user")).await });
    assert!(soon(task).await.unwrap_err().is_panic());
    soon(mutex.lock()).await.unwrap().release().await.unwrap();
}
