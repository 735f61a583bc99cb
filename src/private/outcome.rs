//! The results of calls whose body does not run, or does not run to its end.

use zklock_core::LockError;

/// A return type that can carry a lock error out of an annotated function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry a `LockError`",
    label = "the lock can fail, and this return type cannot report it",
    note = "return `Result<_, E>` where `E: From<zklock::LockError>`",
    note = "with `thiserror`, one line in the enum `E` implements it: `Lock(#[from] zklock::LockError),`",
    note = "an `E` of another crate needs a conversion: `map_err = |error| …`"
)]
pub trait Carries {
    /// Converts a lock error into the result of the function.
    fn from_lock_error(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> Carries for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(error.into())
    }
}

/// A return type with a value for a call that skips the body, because this replica does not lead or the
/// period has already begun.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for a call that does not run the body",
    label = "no value to return for a call that does not run the body",
    note = "return `()`, `Option<_>`, `Result<(), E>` or `Result<Option<_>, E>`",
    note = "`otherwise` can return something else, but not where a period of `once_per` has begun"
)]
pub trait OnSkip {
    /// Returns the value.
    fn skipped() -> Self;
}

#[diagnostic::do_not_recommend]
impl OnSkip for () {
    fn skipped() -> Self {}
}

#[diagnostic::do_not_recommend]
impl<T> OnSkip for Option<T> {
    fn skipped() -> Self {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: OnSkip, E> OnSkip for Result<T, E> {
    fn skipped() -> Self {
        Ok(T::skipped())
    }
}

/// A return type with a value for a call that fails, for example because leadership is lost.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for a call that fails",
    label = "no value to return when the lock or leadership is lost",
    note = "return `Result<_, E>` where `E: From<zklock::LockError>`, `()` or `Option<_>`"
)]
pub trait OnFailure {
    /// Converts the error into the result of the function, or logs it with the name of the function.
    fn failed(error: LockError, function: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl OnFailure for () {
    fn failed(error: LockError, function: &'static str) -> Self {
        warn(&error, function);
    }
}

#[diagnostic::do_not_recommend]
impl<T> OnFailure for Option<T> {
    fn failed(error: LockError, function: &'static str) -> Self {
        warn(&error, function);
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> OnFailure for Result<T, E> {
    fn failed(error: LockError, _: &'static str) -> Self {
        Err(error.into())
    }
}

/// Logs an error that the return type of the function cannot carry.
fn warn(error: &LockError, function: &'static str) {
    tracing::warn!(target: "zklock", function, %error, "an annotated function failed");
}

/// Returns whether the body does not run because another call holds the lock or another replica leads. The log tells of a
/// contended lock.
pub fn is_skipped(error: &LockError, function: &'static str) -> bool {
    if error.is_contended() {
        tracing::debug!(target: "zklock", function, %error, "a body does not run, because its lock is contended");
    }
    error.is_contended() || error.is_not_leader()
}

/// Converts the error as `map_err` says. The bound tells the compiler the type of a closure's argument.
pub fn mapped<E>(map: impl FnOnce(LockError) -> E, error: LockError) -> E {
    map(error)
}

/// Returns the value of a closure in `otherwise`. The bound tells the compiler the type of its argument.
pub fn instead<T>(otherwise: impl FnOnce(LockError) -> T, error: LockError) -> T {
    otherwise(error)
}

/// Returns the values that the guard of an arm has left.
pub fn given<T>(given: Option<T>) -> T {
    given.expect("the guard of the only arm has been evaluated")
}

/// Is called in an arm whose guard is never true.
pub fn never<T>(_: T) -> ! {
    unreachable!("the guard of this arm is never true")
}
