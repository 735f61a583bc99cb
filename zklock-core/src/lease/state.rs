//! What a holder may believe of its lock.

use crate::error::LossReason;

/// What a holder may believe of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// The lock is held.
    Held,
    /// The connection broke: the lock is held or not, and nobody else has it yet.
    ///
    /// It becomes `Held` again when the servers confirm it, or `Lost`.
    Suspended,
    /// The lock is lost for ever.
    Lost(LossReason),
}
