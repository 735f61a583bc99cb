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

/// # Errors
#[leader_only(path = "/reports/{region}", guard = term)]
pub async fn report<T: Display + Sync + ?Sized>(region: &T) -> io::Result<()> {
    if region.to_string().is_empty() {
        return Err(io::Error::other("no region"));
    }
    Ok(term.verify().await?)
}

/// # Errors
#[leader_only(otherwise = wait, client = client)]
pub async fn waits(numbers: Vec<u8>, client: &Client) -> Result<impl Iterator<Item = u8> + use<>, LockError> {
    yield_now().await;
    Ok(numbers.into_iter())
}

/// # Errors
#[leader_only(otherwise = Ok(name.len()))]
pub async fn value(name: String) -> Result<usize, LockError> {
    yield_now().await;
    Ok(name.len())
}

/// # Errors
#[leader_only(otherwise = Ok(format!("{}!", forward(name).await?)))]
pub async fn forwarded(name: String) -> Result<String, LockError> {
    yield_now().await;
    Ok(name)
}

/// Forwards.
async fn forward(name: String) -> Result<String, LockError> {
    yield_now().await;
    Ok(name)
}
