//! `wait`, `no_wait`, `skip` and `otherwise`: the time for which a call waits, and its result if others have the lock.

use std::io;
use std::time::Duration;

use tokio::task::spawn_blocking;
use zklock::{Client, LockError, MutexGuard, Phase, distributed_lock};

use crate::support::{INSTALLED, Space, failed, soon};

const PATH: &str = "/cleanup";

#[distributed_lock(path = PATH, no_wait)]
async fn at_once() -> Result<u8, LockError> {
    Ok(7)
}

#[distributed_lock(path = ["/before", PATH, "/other"], no_wait)]
async fn all_at_once() -> Result<u8, LockError> {
    Ok(7)
}

#[distributed_lock(path = PATH, skip)]
async fn nothing(ran: &mut bool) {
    *ran = true;
}

#[distributed_lock(path = PATH, skip)]
async fn perhaps() -> Option<u8> {
    Some(7)
}

#[distributed_lock(path = PATH, skip)]
async fn fallible(ran: &mut bool) -> Result<(), LockError> {
    *ran = true;
    Ok(())
}

#[distributed_lock(path = PATH, otherwise = skip)]
async fn perhaps_fallible() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[distributed_lock(path = PATH, otherwise = { std::future::ready(()).await; Ok(other.len()) })]
async fn value(other: String) -> Result<usize, LockError> {
    Ok(usize::from(other.is_empty()))
}

#[distributed_lock(path = PATH, otherwise = |error| Err(io::Error::new(io::ErrorKind::ResourceBusy, error)))]
async fn closure() -> io::Result<u8> {
    Ok(7)
}

#[distributed_lock(path = PATH, otherwise = error)]
async fn error() -> Result<u8, LockError> {
    Ok(7)
}

#[distributed_lock(path = PATH, skip, client = client)]
fn blocking(client: &Client) -> Option<u8> {
    Some(7)
}

#[distributed_lock(path = PATH, otherwise = Ok(other), client = client)]
fn blocking_value(client: &Client, other: u8) -> Result<u8, LockError> {
    Ok(7)
}

#[distributed_lock(path = PATH, no_wait, client = client)]
fn blocking_at_once(client: &Client) -> Result<u8, LockError> {
    Ok(7)
}

async fn taken(space: &Space) -> MutexGuard {
    space.client().await.mutex(PATH).unwrap().lock().await.unwrap()
}

#[track_caller]
fn assert_contended(error: &LockError, within: Duration) {
    let LockError::Timeout { path, waited, phase, .. } = error else { panic!("{error}") };
    assert_eq!((&path[..], *waited, *phase), (PATH, within, Phase::Queued));
    assert!(error.is_contended());
}

/// Runs calls of one client while another one holds the lock, and again when it is free. The former leave no node.
async fn held_and_free<T>(calls: impl AsyncFn(Client) -> T) -> [T; 2] {
    let (space, client) = Space::with_client().await;
    let holder = taken(&space).await;
    let held = soon(zklock::scope(client.clone(), calls(client.clone()))).await;
    space.until_queued(PATH, 1).await;
    for other in ["/before", "/other"] {
        assert_eq!(space.children(other).await, [""; 0]);
    }
    holder.release().await.unwrap();
    [held, soon(zklock::scope(client.clone(), calls(client))).await]
}

#[tokio::test]
async fn a_call_that_does_not_wait_fails_at_once_and_leaves_no_node() {
    let calls = async |_| [at_once().await, error().await, all_at_once().await];
    let [held, free] = held_and_free(calls).await;
    held.into_iter().for_each(|outcome| assert_contended(&failed(outcome), Duration::ZERO));
    assert_eq!(free.map(Result::unwrap), [7; 3]);
}

#[tokio::test]
async fn a_skipped_call_returns_the_empty_value_of_its_type() {
    let calls = async |_| {
        let (mut first, mut second) = (false, false);
        nothing(&mut first).await;
        fallible(&mut second).await.unwrap();
        ([first, second], [perhaps().await, perhaps_fallible().await.unwrap()])
    };
    assert_eq!(held_and_free(calls).await, [([false; 2], [None; 2]), ([true; 2], [Some(7); 2])]);
}

#[tokio::test]
async fn a_call_that_skips_after_a_wait_runs_if_the_lock_is_free_in_time() {
    #[distributed_lock(path = PATH, skip, wait = forever)]
    async fn patient() -> Option<u8> {
        Some(7)
    }
    let space = Space::new();
    let holder = taken(&space).await;
    let waiting = tokio::spawn(zklock::scope(space.client().await, patient()));
    space.until_queued(PATH, 2).await;
    holder.release().await.unwrap();
    assert_eq!(soon(waiting).await.unwrap(), Some(7));
}

#[tokio::test]
async fn a_contended_call_returns_another_value_or_that_of_a_closure() {
    let calls = async |_| (value("other".into()).await.unwrap(), closure().await);
    let [held, free] = held_and_free(calls).await;
    let error = failed(held.1);
    assert_eq!((held.0, error.kind()), (5, io::ErrorKind::ResourceBusy));
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<LockError>());
    assert_contended(inner.unwrap(), Duration::ZERO);
    assert_eq!((free.0, free.1.unwrap()), (0, 7));
}

#[tokio::test]
async fn functions_that_are_not_async_skip_too() {
    let calls =
        |client: &Client| (blocking(client), blocking_value(client, 5).unwrap(), blocking_at_once(client));
    let [held, free] =
        held_and_free(async |client| spawn_blocking(move || calls(&client)).await.unwrap()).await;
    assert_eq!((held.0, held.1), (None, 5));
    assert_contended(&failed(held.2), Duration::ZERO);
    assert_eq!((free.0, free.1, free.2.unwrap()), (Some(7), 7, 7));
}

#[tokio::test]
async fn another_failure_than_contention_is_neither_skipped_nor_replaced() {
    let _uninstalled = INSTALLED.read().await;
    let mut ran = false;
    // Another test of this process may have installed a client and shut it down.
    let is_missing =
        |error: LockError| matches!(error, LockError::NotInstalled { .. } | LockError::Closed { .. });
    assert!(is_missing(failed(fallible(&mut ran).await)));
    assert!(is_missing(failed(value(String::new()).await)));
    assert_eq!((perhaps().await, ran), (None, false));
    assert_ne!(failed(closure().await).kind(), io::ErrorKind::ResourceBusy);
}

#[distributed_lock(path = [PATH, ..others], skip, once_per = "1h")]
async fn once(others: &[&str]) -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[distributed_lock(path = PATH, permits = 2, of = 3, no_wait, once_per = "1h")]
async fn permits_once() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

#[tokio::test]
async fn a_contended_call_begins_no_period_and_a_period_that_has_begun_is_no_contention() {
    let (space, client) = Space::with_client().await;
    let holder = taken(&space).await;
    let calls = async { once(&["/other"]).await };
    assert_eq!(soon(zklock::scope(client.clone(), calls)).await.unwrap(), None);
    holder.release().await.unwrap();
    let calls =
        async { [once(&["/other"]).await, once(&["/other"]).await, once(&[]).await].map(Result::unwrap) };
    assert_eq!(soon(zklock::scope(client.clone(), calls)).await, [Some(7), None, Some(7)]);

    let held = space.client().await.semaphore(PATH, 3).unwrap().acquire_many(2).await.unwrap();
    let error = failed(soon(zklock::scope(client.clone(), permits_once())).await);
    assert!(error.is_contended(), "{error}");
    held.release().await.unwrap();
    let calls = async { [permits_once().await, permits_once().await].map(Result::unwrap) };
    assert_eq!(soon(zklock::scope(client, calls)).await, [Some(7), None]);
}

#[distributed_lock(path = PATH, wait = Duration::from_millis(millis))]
async fn for_millis(millis: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = PATH)]
async fn by_default() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = PATH, wait = forever)]
async fn patient() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_wait_may_be_computed_from_the_arguments() {
    let space = Space::new();
    let holder = taken(&space).await;
    let client = space.client().await;
    let error = failed(zklock::scope(client.clone(), for_millis(500)).await);
    assert_contended(&error, Duration::from_millis(500));
    space.until_queued(PATH, 1).await;
    holder.release().await.unwrap();
    zklock::scope(client, for_millis(u64::MAX)).await.unwrap();
}

#[tokio::test]
async fn forever_outlasts_the_default_of_the_client() {
    let space = Space::new();
    let holder = taken(&space).await;
    let short = Duration::from_millis(500);
    let client = space.config().default_wait(short).connect().await.unwrap();
    let waiter = tokio::spawn(zklock::scope(client.clone(), patient()));
    space.until_queued(PATH, 2).await;
    assert_contended(&failed(zklock::scope(client, by_default()).await), short);
    space.until_queued(PATH, 2).await;
    assert!(!waiter.is_finished());
    holder.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
}
