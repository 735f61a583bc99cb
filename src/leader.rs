//! Access to the candidates that functions under `#[leader_only]` share.
//!
//! Uses only `global`.

use zklock_core::{Leader, LockError};

use crate::global::about;

/// Returns the candidate at `path` of the client that an annotated function would use here.
///
/// All functions under [`#[leader_only]`](macro@crate::leader_only) at this path share it. If the process
/// joins at start-up, their first call does not wait for the election:
///
/// ```no_run
/// # async fn example() -> Result<(), zklock::LockError> {
/// let leads = zklock::leader("/leader")?.join().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// * [`LockError::NotInstalled`] if there is no client.
/// * [`LockError::InvalidPath`] if `path` is invalid.
pub fn leader(path: impl AsRef<str>) -> Result<Leader, LockError> {
    let path = path.as_ref();
    crate::global::client().map_err(|error| about(error, path))?.leader(path)
}

/// Tells, from memory, whether this process leads at `path` at this instant.
///
/// It is meant for health endpoints: it neither joins the election nor fails, and returns `false` before this
/// process has joined.
pub fn is_leader(path: impl AsRef<str>) -> bool {
    let path = path.as_ref();
    crate::global::look(None, |client| client.may_lead(path)).flatten().is_some_and(|leads| leads())
}
