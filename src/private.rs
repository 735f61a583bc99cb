//! The functions and types that generated code uses.
//!
//! They are not part of the public API and change without notice.
//!
//! Uses only `global`.

#[path = "private/blocking.rs"]
pub mod blocking;
#[path = "private/held.rs"]
mod held;
#[path = "private/leader.rs"]
mod leader;
#[path = "private/mutexed.rs"]
mod mutexed;
#[path = "private/named.rs"]
mod named;
#[path = "private/once.rs"]
mod once;
#[path = "private/otherwise.rs"]
mod otherwise;
#[path = "private/paths.rs"]
mod paths;
#[path = "private/site.rs"]
mod site;
#[path = "private/source.rs"]
mod source;
#[path = "private/taking.rs"]
mod taking;

use std::future::Future;

use zklock_core::{Client, Guard, LockError};

pub use self::held::{assert_held, assert_not_held};
pub use self::leader::{
    Answer, Follower, OnFailure, OnSkip, Term, ask_to_lead, lead, lead_to_end, wait_to_lead,
};
pub use self::mutexed::run_mutexed;
pub use self::named::{Labelled, LockPath, named};
pub use self::once::{Function, Once, Start, begin, begin_term};
pub use self::otherwise::{instead, mapped, told};
pub use self::paths::{PathTemplate, Paths, Text, constant, path_of};
pub use self::site::Site;
pub use self::source::{DefaultClient, Source, default_client};
pub use self::taking::{Wait, lock, lock_all, number, permits, read, write};
pub use crate::global::named_client;
pub use zklock_core::Member;

/// The path of an attribute, or the error that makes it invalid.
pub type Path = Result<LockPath, LockError>;

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

/// Returns the values that the guard of an arm has left.
pub fn given<T>(given: Option<T>) -> T {
    given.expect("the guard of the only arm has been evaluated")
}

/// Is called in an arm whose guard is never true.
pub fn never<T>(_: T) -> ! {
    unreachable!("the guard of this arm is never true")
}

/// Returns the client that is the value of an expression.
pub fn client_of(client: &Client) -> Result<Client, LockError> {
    Ok(client.clone())
}

/// Runs the body of an annotated function under its lock, and drops it if the lock is lost.
#[inline]
pub fn run<K, F: Future>(
    held: &Guard<K>,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, K, F> {
    held.run_at_once(body)
}

/// Runs the body of an annotated function under its lock, drops it if the lock is lost, and then releases the lock. A
/// failure to release it does not replace the body's result.
#[inline]
pub fn run_and_release<K, F: Future>(
    held: Guard<K>,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> {
    held.run_and_finish(body)
}

/// Runs the body of an annotated function under its lock, to its end.
pub fn run_to_end<K, F: Future>(
    held: &Guard<K>,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, K, F> {
    held.run_to_end(body)
}

/// Releases the lock after the body; a failure does not replace the body's result.
#[inline]
pub fn release<K>(held: Guard<K>) -> impl Future<Output = ()> {
    held.finish()
}
