//! The attributes that run a function under a lock or a term, and their wording in error messages.
//!
//! Uses no other module.

/// An attribute that runs a function under a lock or a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    DistributedLock,
    LeaderOnly,
}

impl Kind {
    /// Returns the attribute as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DistributedLock => "`#[distributed_lock]`",
            Self::LeaderOnly => "`#[leader_only]`",
        }
    }

    /// Returns the verb phrase for the step before the body.
    pub(crate) fn first(self) -> &'static str {
        match self {
            Self::DistributedLock => "wait for a lock",
            Self::LeaderOnly => "ask who leads",
        }
    }

    /// Returns the verb phrase for running the body.
    pub(crate) fn then(self) -> &'static str {
        match self {
            Self::DistributedLock => "run under the lock",
            Self::LeaderOnly => "run as the leader",
        }
    }
}
