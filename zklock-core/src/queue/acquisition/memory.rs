//! The facts that an acquisition remembers besides its state.

use super::exchange::End;
use crate::queue::contender::Sequence;

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

/// The number of a contender that was first in its queue, with no other contender in the list.
///
/// If the next contender of the same client gets the next number of the same parent, no child was created
/// in between. All children with smaller numbers are gone, and so it is first, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    Unknown,
    /// The node with this number is first.
    First(Sequence),
    /// The node with this number was first, and is certainly deleted.
    Left(Sequence),
}

impl Standing {
    /// Returns the standing after a delete of the node that was answered.
    pub(super) fn left(self) -> Self {
        match self {
            Self::First(number) => Self::Left(number),
            Self::Left(_) | Self::Unknown => Self::Unknown,
        }
    }
}
