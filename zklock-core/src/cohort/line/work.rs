//! The work of a line's task.

use std::time::Instant;

use crate::cohort::attendant::Attendant;
use crate::cohort::call::{Call, Side};
use crate::cohort::tenancy::TenancyId;

/// The state of a line that has a task. A lock that is held for long has none.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Work<C, D> {
    pub(super) coming: Option<Coming>,
    /// Calls that do not wait for others, and that are answered when the contender has left.
    pub(super) refused: Vec<Call<C>>,
    pub(super) attendant: Attendant<Option<Kept>>,
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
    pub(super) side: Side,
    /// The number of contenders in front; `None` while that is not known.
    pub(super) ahead: Option<usize>,
    pub(super) is_withdrawn: bool,
}

impl Coming {
    pub(super) fn new(side: Side) -> Self {
        Self { side, ahead: None, is_withdrawn: false }
    }

    pub(super) fn is_queued(&self) -> bool {
        self.ahead.is_some()
    }

    pub(super) fn ahead(&self) -> usize {
        self.ahead.unwrap_or(0)
    }
}

/// The next step of a line's task.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cohort) enum Agenda<L> {
    /// Enter the queue of the lock on this side.
    Enter(Side),
    /// Withdraw the contender, because no call in line can use it.
    Withdraw,
    /// Look again in a moment, because a call that comes until then can have the vacant node.
    LookAgain,
    /// Release the lease, once its last holder has given it back.
    Leave(L),
    /// Let other clients' readers in beside the readers that hold this lease.
    Downgrade(L),
    /// Wait for a change, for at most this long.
    Sleep { until: Option<Instant>, kept: Option<Kept> },
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
