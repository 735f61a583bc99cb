//! What an acquisition keeps in mind besides its state.

use super::exchange::End;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Intent {
    Acquire,
    /// Leave no node, and end so.
    Withdraw(End),
}

impl Intent {
    pub(super) const WITHDRAW: Self = Self::Withdraw(End::Withdrawn);
}

/// Whether nodes may exist that no reply told us of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Traces {
    Known,
    Possible,
}

/// Whether it had a place in the queue already: what others make of the path later is their mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Seniority {
    Newcomer,
    Settled,
}
