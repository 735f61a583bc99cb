//! An event of a lock or a candidate, and what it is about.

use std::borrow::Cow;
use std::time::Duration;

use crate::error::{LockError, LossReason};
use crate::mode::Mode;
use crate::path::NodePath;
use crate::token::FencingToken;

/// An event of a lock or a candidate of this client.
///
/// The events with one [`id`](Self::id) are those of one attempt, which is one call that wants a lock, or of one
/// candidate in an election. They come in this order, line by line:
///
/// | attempt | candidate |
/// |---|---|
/// | `Begun` | `Begun` |
/// | `Queued`, any number of times | `Queued` and `Rejected`, any number of times |
/// | `Acquired`; or `Contended`, `TimedOut`, `Cancelled`, `Refused` or `Failed`, and then no other event | `Elected`, unless it is withdrawn before |
/// | `Suspended`, `Confirmed` and `Downgraded`, any number of times | `Suspended` and `Confirmed`, any number of times |
/// | `Released`, `PassedOn`, `Lost` or `ReleaseFailed` | `Resigned`, `Lost` or `ReleaseFailed`; and then from `Queued` and `Rejected` on again, for each further term |
/// | | `Withdrawn` |
///
/// An attempt or a candidate that began without a listener has no events.
///
/// `TickAhead` belongs to neither. It has an id of its own, the path of a tick, the mode `Exclusive`, and the label
/// `unnamed`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LockEvent {
    /// The id of the attempt or the candidate, unique within its client.
    pub id: u64,
    /// The lock's path below the client's namespace.
    pub path: String,
    /// The name of the lock for logs and metrics, which contains no value of a path.
    ///
    /// It is the argument `name` of the attribute, else the template of the path as the attribute has it, such as
    /// `/orders/{id}`. A lock that is not taken by an attribute has the name that its handle was given with a
    /// method `named`, else `unnamed`.
    pub label: Cow<'static, str>,
    /// The way in which the lock is held, or wanted.
    pub mode: Mode,
    /// The id of the call that takes several locks as one. Each of them has an attempt of its own.
    pub group: Option<u64>,
    /// The number of events that this listener missed right before this one.
    pub missed: u64,
    /// The kind of the event.
    pub kind: LockEventKind,
}

/// The kind of an event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LockEventKind {
    /// A call wants the lock, or a candidate joins the election. A call that already holds the lock and enters it
    /// again has no events.
    #[non_exhaustive]
    Begun,
    /// The attempt or the candidate is in the queue. It may be sent again when the number in front changes.
    #[non_exhaustive]
    Queued {
        /// The number in front: contenders of other clients, and calls of this one.
        ahead: usize,
    },
    /// The end of an attempt that does not wait, and found others in front.
    #[non_exhaustive]
    Contended {
        /// The time since the attempt began.
        waited: Duration,
    },
    /// The end of an attempt whose time is over.
    #[non_exhaustive]
    TimedOut {
        /// The time since the attempt began.
        waited: Duration,
        /// The error of the call, which names the holder if it is known.
        error: LockError,
    },
    /// The end of an attempt whose future was dropped, for example because its period under `once_per` has begun.
    #[non_exhaustive]
    Cancelled {
        /// The time since the attempt began.
        waited: Duration,
    },
    /// The end of an attempt that the servers, or the other participants' settings, do not allow.
    #[non_exhaustive]
    Refused {
        /// The time since the attempt began.
        waited: Duration,
        /// The error of the call.
        error: LockError,
    },
    /// The end of an attempt by any other error.
    #[non_exhaustive]
    Failed {
        /// The time since the attempt began.
        waited: Duration,
        /// The error of the call.
        error: LockError,
    },
    /// The call holds the lock, or all of the permits that it wanted.
    #[non_exhaustive]
    Acquired {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The time since the attempt began.
        waited: Duration,
    },
    /// The connection broke while the lock was held. It is sent for each permit of a call.
    #[non_exhaustive]
    Suspended {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// After a suspension, the servers confirmed that the lock is still held. It is sent for each permit of a call.
    #[non_exhaustive]
    Confirmed {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// A write lock was downgraded, and lets readers in.
    #[non_exhaustive]
    Downgraded {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
    },
    /// The lock was released: its node is gone, or other readers of this client still hold it.
    #[non_exhaustive]
    Released {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The time since the lock was acquired.
        held: Duration,
    },
    /// The holder has given the lock back, and another call of this client has it now.
    #[non_exhaustive]
    PassedOn {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The time since the lock was acquired.
        held: Duration,
    },
    /// The lock or the term was lost. For several permits, it is sent when the first of them is lost.
    #[non_exhaustive]
    Lost {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The time since the lock was acquired, or since the election.
        held: Duration,
        /// The reason for the loss.
        reason: LossReason,
    },
    /// The lock could not be released; the remaining node disappears when the session ends.
    #[non_exhaustive]
    ReleaseFailed {
        /// The fencing token of the holder.
        fencing_token: FencingToken,
        /// The time since the lock was acquired, or since the election.
        held: Duration,
        /// The cause.
        error: LockError,
    },
    /// The candidate leads: a term begins.
    #[non_exhaustive]
    Elected {
        /// The fencing token of the term.
        fencing_token: FencingToken,
        /// The time since the candidate joined the election, or since the end of its last term.
        waited: Duration,
    },
    /// The term was given up, and its node is gone.
    #[non_exhaustive]
    Resigned {
        /// The fencing token of the term.
        fencing_token: FencingToken,
        /// The time since the election.
        held: Duration,
    },
    /// The servers refused the candidate, which tries again after a pause, or withdraws.
    #[non_exhaustive]
    Rejected {
        /// The error of the servers.
        error: LockError,
    },
    /// The last start under `once_per` is ahead of the servers' clock, so that none is possible for far longer than a
    /// period. It is told once, until the tick is in order again or forgotten.
    #[non_exhaustive]
    TickAhead {
        /// The time from the present time of the servers to that start.
        ahead: Duration,
    },
    /// The candidate has left the election. A selector that runs again does so as another candidate.
    #[non_exhaustive]
    Withdrawn,
}

/// The lock or the election that an attempt, a candidate or a span is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) path: &'a NodePath,
    pub(crate) label: &'a Cow<'static, str>,
    pub(crate) mode: Mode,
    pub(crate) group: Option<u64>,
}

/// The end of a call's wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Acquired,
    Contended,
    TimedOut,
    Cancelled,
    /// The servers, or the other participants' settings, do not allow the call.
    Refused,
    Failed,
}

impl Outcome {
    /// Returns the end of a wait by this error.
    pub(crate) fn of(error: &LockError) -> Self {
        match error {
            LockError::Timeout { .. } => Self::TimedOut,
            LockError::Denied { .. }
            | LockError::AuthFailed { .. }
            | LockError::Tls { .. }
            | LockError::Refused { .. }
            | LockError::MixedRecipes { .. }
            | LockError::PermitsDiffer { .. }
            | LockError::InvalidPermits { .. } => Self::Refused,
            _ => Self::Failed,
        }
    }

    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 6] =
        [Self::Acquired, Self::Contended, Self::TimedOut, Self::Cancelled, Self::Refused, Self::Failed];

    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Contended => "contended",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}
