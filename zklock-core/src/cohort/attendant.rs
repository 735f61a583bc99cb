//! The state of the task that does the work of a line or a pool.

use std::time::Instant;

/// Whether a task does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Attendant<W> {
    Absent,
    /// The task sleeps until this instant, until the leases that it watches change, or until it is woken.
    Asleep {
        until: Option<Instant>,
        watched: W,
    },
    Awake,
}

/// The task to wake after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rouse {
    Nobody,
    Wake,
    /// There is no task. The caller has to start one.
    Start,
}

impl<W> Attendant<W> {
    /// Takes note that the task has something to do, and returns how it gets to know.
    pub(super) fn rouse(&mut self) -> Rouse {
        match std::mem::replace(self, Self::Awake) {
            Self::Absent => Rouse::Start,
            Self::Asleep { .. } => Rouse::Wake,
            Self::Awake => Rouse::Nobody,
        }
    }
}

/// Returns whether the first instant is earlier. `None` is never.
pub(super) fn is_before(first: Option<Instant>, second: Option<Instant>) -> bool {
    first.is_some_and(|first| second.is_none_or(|second| first < second))
}
