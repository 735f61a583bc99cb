//! Free functions that the leader runs.

use core::fmt::Display;
use std::io;

use tokio::task::yield_now;
use zklock::{Client, LockError, leader_only};

/// Skips.
#[leader_only]
pub async fn sweep() {
    yield_now().await;
}

/// Skips with a value.
#[leader_only(path = "/reports/{region}", otherwise = skip, on_lost = finish)]
pub async fn maybe(region: &str) -> Option<u8> {
    yield_now().await;
    Some(7)
}

/// Uses its guard.
///
/// # Errors
///
/// Those of the lock.
#[leader_only(path = "/reports/{region}", guard = term)]
pub async fn report<T: Display + Sync + ?Sized>(region: &T) -> io::Result<()> {
    if region.to_string().is_empty() {
        return Err(io::Error::other("no region"));
    }
    Ok(term.verify().await?)
}

/// Waits.
///
/// # Errors
///
/// Those of the lock.
#[leader_only(otherwise = wait, client = client)]
pub async fn waits(numbers: Vec<u8>, client: &Client) -> Result<impl Iterator<Item = u8> + use<>, LockError> {
    yield_now().await;
    Ok(numbers.into_iter())
}

/// Fails.
///
/// # Errors
///
/// Those of the lock.
#[leader_only(otherwise = error)]
pub async fn fails() -> Result<u64, LockError> {
    yield_now().await;
    Ok(7)
}

/// Returns a value.
///
/// # Errors
///
/// Those of the lock.
#[leader_only(otherwise = Ok(name.len()))]
pub async fn value(name: String) -> Result<usize, LockError> {
    yield_now().await;
    Ok(name.len())
}

/// Calls and awaits.
///
/// # Errors
///
/// Those of the lock.
#[leader_only(otherwise = Ok(format!("{}!", forward(name).await?)))]
pub async fn forwarded(name: String) -> Result<String, LockError> {
    yield_now().await;
    Ok(name)
}

/// Returns from a block.
#[leader_only(otherwise = {
    if name.is_empty() {
        return None;
    }
    Some(name)
})]
pub async fn block(name: String) -> Option<String> {
    yield_now().await;
    Some(name)
}

/// Returns a variable.
#[leader_only(otherwise = (skip))]
pub async fn variable(skip: Option<u8>) -> Option<u8> {
    yield_now().await;
    skip
}

/// Starts once per period.
#[leader_only(once_per = "15m")]
pub async fn invoices() {
    yield_now().await;
}

/// Forwards.
async fn forward(name: String) -> Result<String, LockError> {
    yield_now().await;
    Ok(name)
}
