//! Which of the attributes stands on a function, as errors name it.

/// An attribute on a function that runs under something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    DistributedLock,
    LeaderOnly,
}

impl Kind {
    /// The attribute as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DistributedLock => "`#[distributed_lock]`",
            Self::LeaderOnly => "`#[leader_only]`",
        }
    }

    /// What the function does before its body.
    pub(crate) fn first(self) -> &'static str {
        match self {
            Self::DistributedLock => "wait for a lock",
            Self::LeaderOnly => "ask who leads",
        }
    }

    /// What is to be done with the body.
    pub(crate) fn then(self) -> &'static str {
        match self {
            Self::DistributedLock => "run under the lock",
            Self::LeaderOnly => "run where this replica leads",
        }
    }
}
