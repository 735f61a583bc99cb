//! Functions that are not async.

use core::fmt::Display;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use zklock::{LockError, distributed_lock, leader_only};

/// # Errors
#[distributed_lock(path = "/jobs")]
pub fn plain() -> Result<(), LockError> {
    Ok(())
}

/// # Errors
#[distributed_lock(path = "/files/{name}", wait = patience, guard = held)]
pub fn guarded(name: String, patience: Duration) -> Result<String, LockError> {
    Ok(held.path().to_owned())
}

/// # Errors
#[distributed_lock(path = "/generic/{name}", mode = write)]
pub fn generic<T: Display, const COUNT: usize>(
    name: T,
    each: impl Fn(u64) -> u64,
    numbers: [u64; COUNT],
) -> Result<impl Iterator<Item = u64>, LockError> {
    Ok(numbers.into_iter().map(each))
}

/// # Errors
#[distributed_lock(path = "/invoices", once_per = "15m")]
pub fn invoices() -> Result<Option<u8>, LockError> {
    Ok(Some(7))
}

/// Runs on the leader.
#[leader_only]
pub fn sweep() {
    plain().unwrap_or_default();
}

/// Waits to lead.
#[leader_only(otherwise = wait, guard = term)]
pub fn waits(names: &mut Vec<String>) -> Option<&mut String> {
    if !term.is_leading() {
        return None;
    }
    names.push(String::new());
    names.last_mut()
}

/// # Errors
#[distributed_lock(path = "/last/{shelf}")]
pub fn last_expression(shelf: u64, names: Mutex<Vec<String>>) -> Result<usize, LockError> {
    Ok(names.lock().unwrap_or_else(PoisonError::into_inner).len())
}
