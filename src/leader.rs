//! The leaders that annotated functions ask for, of the client that they would use.

use zklock_core::{Leader, LockError};

use crate::__private::about;

/// The one candidate at `path` of the client that an annotated function would use here.
///
/// Functions under [`#[leader_only]`](macro@crate::leader_only) at this path share it. Joining at start-up
/// spares their first call the wait for the election:
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
/// [`LockError::NotInstalled`] without a client, and [`LockError::InvalidPath`].
pub fn leader(path: impl AsRef<str>) -> Result<Leader, LockError> {
    let path = path.as_ref();
    crate::client().map_err(|error| about(error, path))?.leader(path)
}

/// Tells whether this process leads at `path` at this instant, from memory; not before it joined the election.
///
/// It is meant for health endpoints: it neither joins nor fails.
pub fn is_leader(path: impl AsRef<str>) -> bool {
    leader(path).is_ok_and(|leader| leader.is_leader())
}
