//! The kinds of errors, for callers that treat several in one way.

use super::{LockError, Phase};

impl LockError {
    /// Returns whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Returns whether the deadline passed while the caller waited behind others, or behind a sibling call under the
    /// same hold.
    pub fn is_contended(&self) -> bool {
        matches!(self, Self::Timeout { phase: Phase::Queued | Phase::Sibling, .. })
    }

    /// Returns whether a lock or leadership was lost while it was held.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Returns whether this client was asked to do the leader's work, but does not lead.
    pub fn is_not_leader(&self) -> bool {
        matches!(self, Self::NotLeader { .. })
    }

    /// Returns whether the client was shut down, or the candidate was closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Returns whether the caller's input or configuration is invalid, so that trying again cannot help.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Self::InvalidPath { .. }
                | Self::InvalidWait { .. }
                | Self::InvalidConfig { .. }
                | Self::InvalidPermits { .. }
                | Self::InvalidGroup { .. }
                | Self::Reentrant { .. }
                | Self::Upgrade { .. }
                | Self::WouldBlockRuntime { .. }
                | Self::NotInstalled { .. }
                | Self::AlreadyInstalled { .. }
        )
    }
}
