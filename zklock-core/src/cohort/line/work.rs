//! The work of a line's task.

use std::time::Instant;

use smallvec::SmallVec;

use crate::cohort::call::{Call, Manner, Side};
use crate::cohort::tenancy::TenancyId;

/// The state of a line that has a task. A lock that is held for long has none.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Work<C, D> {
    pub(super) coming: Option<Coming>,
    /// Calls that do not wait for others, and that are answered when the contender has left.
    pub(super) refused: Vec<Call<C>>,
    pub(super) attendant: Attendant,
    /// The node that the task last saw vacant, and the number of its grants at that time.
    pub(super) seen_vacant: Option<(TenancyId, u32)>,
    /// The state of the task that the line does not look at.
    pub(super) desk: D,
}

impl<C, D: Default> Default for Work<C, D> {
    fn default() -> Self {
        let (coming, refused, attendant) = (None, Vec::new(), Attendant::Absent);
        Self { coming, refused, attendant, seen_vacant: None, desk: D::default() }
    }
}

/// A node of this client that contends for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coming {
    pub(super) entry: Entry,
    /// The number of contenders in front; `None` while that is not known.
    pub(super) ahead: Option<usize>,
    pub(super) is_withdrawn: bool,
}

impl Coming {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, ahead: None, is_withdrawn: false }
    }

    pub(super) fn is_queued(&self) -> bool {
        self.ahead.is_some()
    }

    pub(super) fn ahead(&self) -> usize {
        self.ahead.unwrap_or(0)
    }
}

/// A contender to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::cohort) struct Entry {
    pub(in crate::cohort) side: Side,
    /// Whether the contender waits for others. That of a lock always does.
    pub(in crate::cohort) manner: Manner,
}

/// The next step of a line's task.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cohort) enum Agenda<L> {
    /// Contend for the lock, or for permits.
    Enter(Entry),
    /// Withdraw the contender, because no call in line can use it.
    Withdraw,
    /// Look again in a moment, because a call that comes until then can have the vacant node.
    LookAgain,
    /// Release the lease, once its last holder has given it back.
    Leave(L),
    /// Let other clients' readers in beside the readers that hold this lease.
    Downgrade(L),
    /// Wait for a change, for at most this long.
    Sleep { until: Option<Instant>, kept: Vec<Kept> },
    /// Nothing is left to do, and the task ends.
    Over,
}

/// A lease whose changes matter to the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::cohort) struct Kept {
    pub(in crate::cohort) tenancy: TenancyId,
    /// Whether the first call in line waits only until the state of the lease is known.
    pub(in crate::cohort) is_open: bool,
    /// Whether others may wait for the lock, as far as the line has noticed.
    pub(in crate::cohort) has_company: bool,
}

/// The reason why a call does not get into the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cohort) enum Turned {
    /// The call does not wait for others, and would have to.
    Contended,
    Closed,
}

/// A call that is granted the lock.
#[derive(Debug)]
pub(in crate::cohort) struct Granted<C, L> {
    pub(in crate::cohort) call: Call<C>,
    pub(in crate::cohort) lease: L,
    pub(in crate::cohort) tenancy: TenancyId,
    /// The number of earlier grants under the same node.
    pub(in crate::cohort) handoff: u32,
}

/// The effects of a change.
#[derive(Debug)]
#[must_use = "the grants and the leases belong to others"]
pub(in crate::cohort) struct Served<C, L> {
    /// Mostly one.
    pub(in crate::cohort) grants: SmallVec<[Granted<C, L>; 1]>,
    /// Leases that are no longer kept. Each is released once its last holder has given it back.
    pub(in crate::cohort) left: SmallVec<[L; 1]>,
}

impl<C, L> Default for Served<C, L> {
    fn default() -> Self {
        Self { grants: SmallVec::new(), left: SmallVec::new() }
    }
}

/// Whether a task does the work.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(in crate::cohort) enum Attendant {
    Absent,
    /// The task sleeps until this instant, until the leases that it watches change, or until it is woken.
    Asleep {
        until: Option<Instant>,
        watched: Vec<Kept>,
    },
    Awake,
}

/// The task to wake after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cohort) enum Rouse {
    Nobody,
    Wake,
    /// There is no task. The caller has to start one.
    Start,
}

impl Attendant {
    /// Takes note that the task has something to do, and returns how it gets to know.
    pub(in crate::cohort) fn rouse(&mut self) -> Rouse {
        match std::mem::replace(self, Self::Awake) {
            Self::Absent => Rouse::Start,
            Self::Asleep { .. } => Rouse::Wake,
            Self::Awake => Rouse::Nobody,
        }
    }
}

/// Returns whether the first instant is earlier. `None` is never.
pub(in crate::cohort) fn is_before(first: Option<Instant>, second: Option<Instant>) -> bool {
    first.is_some_and(|first| second.is_none_or(|second| first < second))
}
