//! The functions by which generated code answers a call that does not run the body.

use zklock_core::LockError;

/// Converts the error as `map_err` says. The bound tells the compiler the type of a closure's argument.
pub fn mapped<E>(map: impl FnOnce(LockError) -> E, error: LockError) -> E {
    map(error)
}

/// Returns the value of a closure in `otherwise`. The bound tells the compiler the type of its argument.
pub fn instead<T>(otherwise: impl FnOnce(LockError) -> T, error: LockError) -> T {
    otherwise(error)
}

/// Logs that a body does not run because the lock is contended.
pub fn told(error: &LockError, function: &'static str) {
    tracing::debug!(target: "zklock", function, %error, "a body does not run, because its lock is contended");
}
