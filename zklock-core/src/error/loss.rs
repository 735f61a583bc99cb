//! The reasons for the loss of a lock or of leadership.

use std::fmt;

/// The reason for the loss of a lock or of leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Somebody else deleted the lock's node.
    NodeDeleted,
    /// The lock's node now belongs to another session.
    OwnerChanged,
    /// The session expired or was closed, or belongs to the process from which this one was forked.
    SessionEnded,
    /// The servers did not answer for so long that they may have handed the lock on.
    LeaseExpired,
    /// The connection broke, and the leader's [`Policy`](crate::Policy) is to give up leadership at once.
    Suspended,
    /// The leader resigned, its candidate was closed, or its callback returned; or the holder gave the lock back.
    Resigned,
}

impl LossReason {
    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NodeDeleted => "node_deleted",
            Self::OwnerChanged => "owner_changed",
            Self::SessionEnded => "session_ended",
            Self::LeaseExpired => "lease_expired",
            Self::Suspended => "suspended",
            Self::Resigned => "resigned",
        }
    }
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
