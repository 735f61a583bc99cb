//! The functions and types that generated code uses.
//!
//! They are not part of the public API and change without notice.
//!
//! Uses only `assertions` and `global`.

#[path = "private/blocking.rs"]
pub mod blocking;
#[path = "private/once.rs"]
mod once;
#[path = "private/outcome.rs"]
mod outcome;
#[path = "private/paths.rs"]
mod paths;
#[path = "private/take.rs"]
mod take;

pub use self::once::{Function, Once, begin, begin_term};
pub use self::outcome::{Carries, OnFailure, OnSkip, given, instead, is_skipped, mapped, never};
pub use self::paths::{LockPath, Paths, Text};
pub use self::take::{Taking, Term, Wait, all, client_of, mutex, number, permits, read, term, write};
pub use crate::assertions::{assert_held, assert_not_held};
pub use crate::global::{client, named_client};
pub use zklock_core::Member;
