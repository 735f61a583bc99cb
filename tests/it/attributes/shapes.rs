//! The functions that can be annotated, and the errors they may return.

use std::error::Error;
use std::io;

use zklock::{LockError, distributed_lock};

use crate::support::{Space, failed};

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
