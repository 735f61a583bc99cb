//! The lock is released however a body ends, a body does not outlive its lock, and both return the function's error type.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use zklock::{LockError, LossReason, distributed_lock};

use crate::support::{Space, failed, soon};

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
