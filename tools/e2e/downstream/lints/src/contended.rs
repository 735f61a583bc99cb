//! Functions that say what a call returns which does not get the lock, or that map its error.

use zklock::{LockError, distributed_lock, leader_only};

/// Skips, and returns nothing.
#[distributed_lock(path = "/a/{id}", skip, name = "nothing")]
pub async fn nothing(id: u64) {}

/// Skips, and returns no value.
#[must_use]
#[distributed_lock(path = "/a", skip, wait = "1s")]
pub fn perhaps() -> Option<u64> {
    Some(7)
}

/// # Errors
#[distributed_lock(path = "/a", otherwise = Ok(other))]
pub async fn replaced(other: u64) -> Result<u64, LockError> {
    Ok(7)
}

/// # Errors
#[distributed_lock(path = "/a", otherwise = |error: LockError| Err(error.to_string()), map_err = |error: LockError| error.to_string())]
pub fn replaced_by_a_closure() -> Result<u64, String> {
    Ok(7)
}

/// # Errors
#[distributed_lock(path = "/a", permits = wanted, of = 5, once_per = "1m")]
pub async fn permits(wanted: u32) -> Result<(), LockError> {
    Ok(())
}

/// # Errors
#[leader_only(otherwise = wait, wait = "5s", map_err = |error: LockError| error.to_string())]
pub async fn led() -> Result<u64, String> {
    Ok(7)
}
