//! The progress and the outcome of an acquisition.

use crate::error::{Holder, LockError};
use crate::queue::acquisition::Node;

/// The reaction to contenders in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Contention {
    Wait,
    Leave,
}

/// The progress of an acquisition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// No session is open.
    Connecting,
    /// The place in the queue is not confirmed yet.
    Entering,
    /// This many contenders are in front.
    Queued(usize),
    /// This one is the nearest of them. It follows `Queued`, which tells their number.
    Behind(Holder),
}

/// The outcome of an acquisition.
pub(crate) enum Outcome<T = Node> {
    /// It is the contender's turn, its node belongs to this session, and the lease is valid.
    Held(T),
    /// Others are in front; the contender was withdrawn.
    Contended,
    /// The caller cancelled, and the contender was withdrawn.
    Cancelled,
    /// The lock cannot be acquired, for this reason.
    Refused(LockError),
    /// The session ended, and the contender with it.
    SessionLost,
}

impl<T> Outcome<T> {
    pub(crate) fn map<U>(self, held: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Held(value) => Outcome::Held(held(value)),
            Self::Contended => Outcome::Contended,
            Self::Cancelled => Outcome::Cancelled,
            Self::Refused(error) => Outcome::Refused(error),
            Self::SessionLost => Outcome::SessionLost,
        }
    }
}

/// Whether an acquisition may know without a list that it is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// The contender of a mutex or a read-write lock.
    Used,
    /// A candidate of an election, a contender at a semaphore, or one where a semaphore's nodes are. So is one whose paths
    /// are too long for the transaction that creates a queue.
    Ignored,
}
