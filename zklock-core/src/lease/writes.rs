//! Guarded writes under a lease, and why the next holder of the same node waits for them.
//!
//! A guarded write checks that the nodes of its leases exist. So it tells its holder from another client's, but not from a
//! later holder of the same node. Therefore:
//!
//! 1. A write counts in each of its leases from before it is sent until its outcome is known.
//! 2. The lock is not passed on while a write counts.
//! 3. A write without a definite answer may be applied as long as the node exists. The lock is never passed on after it, and
//!    the node is deleted.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::change::Signal;

/// The guarded writes of one lease.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// The number of those whose outcomes are not known, and [`DOUBT`].
    tally: AtomicU32,
    /// Told when no write is under way any more, or the outcome of one will never be known.
    changed: Signal,
}

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

impl Writes {
    /// Returns the present state, and changes nothing.
    pub(crate) fn state(&self) -> Writing {
        match self.tally.load(Ordering::SeqCst) {
            0 => Writing::Idle,
            tally if tally & DOUBT != 0 => Writing::Doubtful,
            _ => Writing::UnderWay,
        }
    }

    /// Waits until this is so. Looks again when no write is under way any more, or one is doubtful.
    pub(super) fn until(&self, is_so: impl Fn() -> bool) -> impl Future<Output = ()> {
        self.changed.until(move || is_so().then_some(()))
    }

    /// Waits until no write is under way, or one is doubtful. Returns `Idle` or `Doubtful`.
    #[cfg(test)]
    pub(crate) async fn drained(&self) -> Writing {
        self.until(|| self.state() != Writing::UnderWay).await;
        self.state()
    }

    /// Counts a write, which ends with [`settle`](Self::settle) or [`doubt`](Self::doubt).
    pub(super) fn begin(&self) {
        self.tally.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a write that has been applied, or will never be.
    pub(super) fn settle(&self) {
        let before = self.tally.fetch_sub(1, Ordering::SeqCst);
        if before & !DOUBT == 1 {
            self.changed.notify();
        }
    }

    /// Ends a write of unknown outcome.
    pub(super) fn doubt(&self) {
        // Before the write stops to count, so that no look in between finds the lease idle.
        self.tally.fetch_or(DOUBT, Ordering::SeqCst);
        self.tally.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify();
    }
}

/// The bit that tells that the outcome of a write will never be known. The other bits are a number.
const DOUBT: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn drained_waits_for_the_last_write_and_for_one_that_has_begun_in_between() {
        let writes = Writes::default();
        assert_eq!(writes.drained().await, Writing::Idle);
        writes.begin();
        writes.begin();
        let mut drained = pin!(writes.drained());
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        writes.begin();
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.settle();
        assert_eq!(poll!(&mut drained), Poll::Ready(Writing::Idle));
    }

    #[tokio::test]
    async fn drained_does_not_wait_for_others_once_a_write_is_doubtful() {
        let writes = Writes::default();
        writes.begin();
        writes.begin();
        let mut drained = pin!(writes.drained());
        assert_eq!(poll!(&mut drained), Poll::Pending);
        writes.doubt();
        assert_eq!(poll!(&mut drained), Poll::Ready(Writing::Doubtful));
    }
}
