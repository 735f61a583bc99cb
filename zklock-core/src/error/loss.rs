//! Why a lock was lost.

use std::fmt;

/// Why a lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Somebody else deleted the lock's node.
    NodeDeleted,
    /// The lock's node belongs to another session now.
    OwnerChanged,
    /// The session expired, or was closed.
    SessionEnded,
    /// The servers did not answer for so long that they may have handed the lock on.
    LeaseExpired,
    /// The connection broke, and the leader's [`Policy`](crate::Policy) is not to wait for what comes of it.
    Suspended,
    /// The leader resigned, or its candidacy was closed.
    Resigned,
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeDeleted => "its node was deleted by somebody else",
            Self::OwnerChanged => "its node belongs to another session",
            Self::SessionEnded => "the session ended",
            Self::LeaseExpired => "the servers did not answer in time",
            Self::Suspended => "the connection broke",
            Self::Resigned => "it was given up",
        })
    }
}
