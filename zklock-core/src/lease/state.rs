//! The state of a lock as its holder can know it.

use crate::error::LossReason;

/// The state of a lock as its holder can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// The lock is held.
    Held,
    /// The connection broke, and the servers have not confirmed the lock since. It may be lost
    /// already, but no other client has it yet.
    ///
    /// The state becomes `Held` again when the servers confirm the lock, or `Lost`.
    Suspended,
    /// The lock is lost forever.
    Lost(LossReason),
}
