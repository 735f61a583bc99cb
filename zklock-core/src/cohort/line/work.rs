//! The work of a line's task.

use std::time::Instant;

use crate::cohort::call::Side;
use crate::cohort::tenancy::TenancyId;

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
}
