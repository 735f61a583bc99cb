//! Guarded writes under a lease, and why the next holder of the same node waits for them.
//!
//! A guarded write checks that the nodes of its leases exist. So it tells its holder from another client's, but not from a
//! later holder of the same node. Therefore:
//!
//! 1. A write counts in each of its leases from before it is sent until its outcome is known.
//! 2. The lock is not passed on while a write counts.
//! 3. A write without a definite answer may be applied as long as the node exists. The lock is never passed on after it, and
//!    the node is deleted.

use std::sync::atomic::Ordering;

use super::state::Lease;

/// The answer to the question whether a later holder of the same node could see a write of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Every write has been applied, or will never be.
    Idle,
    /// The outcome of at least one write is not known yet.
    UnderWay,
    /// A write of unknown outcome may be applied as long as the node exists. This never ends.
    Doubtful,
}

impl Lease {
    /// Returns the present state of the guarded writes, and changes nothing.
    pub(crate) fn writing(&self) -> Writing {
        match self.writes.load(Ordering::SeqCst) {
            0 => Writing::Idle,
            tally if tally & DOUBT != 0 => Writing::Doubtful,
            _ => Writing::UnderWay,
        }
    }

    /// Counts a write, which ends with [`end_write`](Self::end_write).
    pub(super) fn begin_write(&self) {
        self.writes.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes note that the outcome of a write will never be known, before it ends: no look in between finds the lease idle.
    pub(super) fn doubt_write(&self) {
        self.writes.fetch_or(DOUBT, Ordering::SeqCst);
    }

    /// Ends a write.
    pub(super) fn end_write(&self) {
        let before = self.writes.fetch_sub(1, Ordering::SeqCst);
        if before == 1 || before & DOUBT != 0 {
            self.changed().notify();
        }
    }
}

/// The bit that tells that the outcome of a write will never be known. The other bits are a number.
const DOUBT: u32 = 1 << 31;
