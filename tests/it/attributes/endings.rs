//! The lock is released however a body ends, a body does not outlive its lock, and both return the function's error type,
//! by a conversion or by `map_err`.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::spawn_blocking;
use zklock::{Client, LockError, LossReason, distributed_lock, leader_only};

use super::Tracer;
use crate::support::{INSTALLED, Space, failed, soon, until_leads};

#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Question,
    Error,
    Return,
    Tail,
}

#[distributed_lock(path = "/returns")]
async fn ending(by: By) -> io::Result<u64> {
    match by {
        By::Question => Ok("seven".parse::<u64>().map_err(io::Error::other)?),
        By::Error => return Err(io::ErrorKind::NotFound.into()),
        By::Return => return Ok(7),
        By::Tail => Ok(7),
    }
}

#[tokio::test]
async fn an_error_and_a_return_leave_with_the_lock_released() {
    let (space, client) = Space::with_client().await;
    let (question, error) = (io::ErrorKind::Other, io::ErrorKind::NotFound);
    let cases =
        [(By::Question, Err(question)), (By::Error, Err(error)), (By::Return, Ok(7)), (By::Tail, Ok(7))];
    for (by, expected) in cases {
        let ended = zklock::scope(client.clone(), ending(by)).await;
        assert_eq!(ended.map_err(|error| error.kind()), expected, "{by:?}");
        space.until_empty("/returns").await;
    }
}

#[distributed_lock(path = "/panics")]
async fn panicking() -> Result<(), LockError> {
    tokio::task::yield_now().await;
    panic!("out of hay");
}

#[tokio::test]
async fn a_panic_goes_on_and_the_lock_is_released() {
    let space = Space::new();
    let call = tokio::spawn(zklock::scope(space.client().await, panicking()));
    let panic = failed(soon(call).await).into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"out of hay"));
    space.until_empty("/panics").await;
}

#[distributed_lock(path = "/lost/{name}", guard = held)]
async fn finishing(name: &str, space: &Space) -> Result<(), LockError> {
    space.delete_children(&format!("/lost/{name}")).await;
    held.lost().await;
    Ok(())
}

#[distributed_lock(path = "/lost/{name}", wait = "60s")]
async fn nesting(name: &str, space: &Space, entered: &AtomicBool) -> Result<(), LockError> {
    let result = finishing(name, space).await;
    entered.store(true, Ordering::SeqCst);
    result
}

#[tokio::test]
async fn a_loss_ends_every_level_of_a_nested_call() {
    let space = Space::new();
    let went_on = AtomicBool::new(false);
    let call = zklock::scope(space.client().await, nesting("b", &space, &went_on));
    assert!(failed(soon(call).await).is_lost());
    assert!(!went_on.load(Ordering::SeqCst));
    space.until_empty("/lost/b").await;
}

#[distributed_lock(path = "/migration", on_lost = finish, guard = held)]
async fn migrate(space: &Space, is_done: &AtomicBool) -> Result<u8, LockError> {
    space.delete_children("/migration").await;
    held.lost().await;
    // Without `on_lost = finish`, the body would be dropped at this await.
    tokio::task::yield_now().await;
    is_done.store(true, Ordering::SeqCst);
    Ok(7)
}

#[tokio::test]
async fn a_body_ends_although_its_lock_is_lost_and_the_call_says_so() {
    let (space, is_done) = (Space::new(), AtomicBool::new(false));
    let error = failed(soon(zklock::scope(space.client().await, migrate(&space, &is_done))).await);
    assert!(matches!(error, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{error}");
    assert!(is_done.load(Ordering::SeqCst));
}

#[derive(Debug, thiserror::Error)]
enum SettleError {
    #[error("no order of this number")]
    NoOrder,
    #[error(transparent)]
    Lock(#[from] LockError),
}

#[distributed_lock(path = "/orders/{id}")]
async fn settle(id: &str) -> Result<(), SettleError> {
    Err(SettleError::NoOrder)
}

#[distributed_lock(path = "/orders/{id}")]
async fn read(id: &str) -> io::Result<u64> {
    id.parse().map_err(io::Error::other)
}

#[distributed_lock(path = "/orders/{id}")]
async fn parse(id: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    Ok(id.parse()?)
}

#[tokio::test]
async fn errors_of_the_body_and_of_the_lock_share_the_functions_error_type() {
    let client = Space::new().client().await;
    let calls =
        |id| async move { (failed(settle(id).await), failed(read(id).await), failed(parse(id).await)) };

    let (settled, read, parsed) = zklock::scope(client.clone(), calls("x")).await;
    assert!(matches!(settled, SettleError::NoOrder), "{settled}");
    assert_eq!(read.kind(), io::ErrorKind::Other);
    assert!(parsed.is::<std::num::ParseIntError>(), "{parsed}");

    let (settled, read, parsed) = zklock::scope(client, calls("")).await;
    assert!(matches!(settled, SettleError::Lock(LockError::InvalidPath { .. })), "{settled}");
    assert_eq!(read.kind(), io::ErrorKind::InvalidInput);
    assert!(parsed.is::<LockError>(), "{parsed}");
}

#[distributed_lock(path = "/nested/{depth}")]
async fn nested_once(depth: u8) -> Result<[u8; 512], LockError> {
    let kept = [depth; 512];
    tokio::task::yield_now().await;
    Ok(kept)
}

#[distributed_lock(path = "/nested/{depth}")]
async fn nested_twice(depth: u8) -> Result<[u8; 512], LockError> {
    nested_once(depth + 1).await
}

#[distributed_lock(path = ["/nested/{depth}", "/nested"], mode = read)]
async fn nested_thrice(depth: u8) -> Result<[u8; 512], LockError> {
    nested_twice(depth + 1).await
}

#[test]
fn the_futures_of_nested_calls_do_not_multiply() {
    let (once, twice) = (size_of_val(&nested_once(1)), size_of_val(&nested_twice(1)));
    assert!(once < 8 * 1024 && twice < 8 * 1024, "{once} bytes once, {twice} bytes twice");
    let thrice = size_of_val(&nested_thrice(1));
    assert!(thrice < 8 * 1024, "{thrice} bytes thrice");
}

const PATH: &str = "/mapped";

/// The status of a response, which this crate could not implement a conversion for.
type Status = (u16, String);

fn unavailable(error: LockError) -> Status {
    (503, error.to_string())
}

#[distributed_lock(path = PATH, no_wait, map_err = unavailable)]
async fn by_path() -> Result<u8, Status> {
    Err((400, "the body".into()))
}

#[distributed_lock(path = PATH, no_wait, map_err = |error| format!("{name}: {}", error.is_contended()))]
async fn by_closure(name: &str) -> Result<u8, String> {
    Ok(7)
}

#[distributed_lock(path = PATH, otherwise = error, map_err = unavailable, client = client)]
fn blocking(client: &Client) -> Result<u8, Status> {
    Ok(7)
}

#[distributed_lock(path = PATH, map_err = unavailable)]
async fn until_lost(space: &Space) -> Result<u8, Status> {
    space.delete_children(PATH).await;
    std::future::pending().await
}

#[distributed_lock(path = PATH, guard = held, map_err = |_| dropped.load(Ordering::SeqCst))]
async fn telling_of_the_guard(space: &Space, callback: Tracer, dropped: Arc<AtomicBool>) -> Result<(), bool> {
    held.on_revoke(move || drop(callback));
    space.delete_children(PATH).await;
    std::future::pending().await
}

#[leader_only(path = "/elected", otherwise = error, map_err = unavailable)]
async fn led() -> Result<u8, Status> {
    Ok(7)
}

#[leader_only(path = "/elected", map_err = unavailable)]
async fn led_or_skipped() -> Result<Option<u8>, Status> {
    Ok(Some(7))
}

#[tokio::test]
async fn errors_of_the_lock_are_mapped_and_those_of_the_body_are_not() {
    let (space, client) = Space::with_client().await;
    let body = soon(zklock::scope(client.clone(), by_path())).await;
    assert_eq!(failed(body), (400, "the body".to_owned()));

    let holder = space.client().await.mutex(PATH).unwrap().lock().await.unwrap();
    let (code, text) = failed(soon(zklock::scope(client.clone(), by_path())).await);
    assert!(code == 503 && text.contains(PATH), "{text}");
    assert_eq!(failed(soon(zklock::scope(client.clone(), by_closure("job"))).await), "job: true");
    let blocked = soon(spawn_blocking({
        let client = client.clone();
        move || blocking(&client)
    }));
    assert_eq!(failed(blocked.await.unwrap()).0, 503);
    holder.release().await.unwrap();
    assert_eq!(soon(zklock::scope(client.clone(), by_closure("job"))).await.unwrap(), 7);

    let (code, text) = failed(soon(zklock::scope(client, until_lost(&space))).await);
    assert!(code == 503 && text.contains("lost"), "{text}");
}

#[tokio::test]
async fn an_error_is_mapped_after_the_end_of_the_guard() {
    let space = Space::new();
    let (callback, dropped) = Tracer::new();
    let call = telling_of_the_guard(&space, callback, dropped);
    assert!(failed(soon(zklock::scope(space.client().await, call)).await), "the guard has ended");
}

#[tokio::test]
async fn errors_of_an_election_are_mapped() {
    let (_, [leader, follower]) = Space::with_clients().await;
    until_leads(&leader, "/elected").await;
    assert_eq!(soon(zklock::scope(leader.clone(), led())).await.unwrap(), 7);
    let calls = async { (failed(led().await), led_or_skipped().await.unwrap()) };
    let ((code, text), skipped) = soon(zklock::scope(follower, calls)).await;
    assert!(code == 503 && text.contains("not the leader at /elected"), "{text}");
    assert_eq!(skipped, None);
    assert!(leader.leader("/elected").unwrap().is_leader());
    let _uninstalled = INSTALLED.read().await;
    assert_eq!(failed(led_or_skipped().await).0, 503, "there is no client");
}
