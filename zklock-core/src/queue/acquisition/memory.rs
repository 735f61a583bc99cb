//! The facts that an acquisition remembers besides its state.

use super::exchange::End;

/// The goal of an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Intent {
    Acquire,
    /// Leave no node, and end in this way.
    Withdraw(End),
}

impl Intent {
    pub(super) const WITHDRAW: Self = Self::Withdraw(End::Withdrawn);
}

/// Whether nodes may exist that no reply has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Traces {
    Known,
    Possible,
}

/// Whether the contender has had a place in the queue before. Only a newcomer leaves a queue of
/// another recipe, because a later mismatch is the mistake of other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Seniority {
    Newcomer,
    Settled,
}
