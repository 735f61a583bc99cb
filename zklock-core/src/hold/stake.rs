//! Counts the holds for writing of one lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::cohort::Grant;

/// The writing under a lease. When its last part ends while readers are left under the lease, the lock is downgraded, so
/// that others may read too.
#[derive(Debug)]
pub(super) struct Writing {
    grant: Weak<Grant>,
    writers: AtomicUsize,
}

/// The part of one hold in the writing under a lease. By default, there is none.
#[derive(Debug, Default)]
pub(super) struct Stake {
    /// `None` for a hold that does not write, and for one that has given its stake up.
    writing: Option<Arc<Writing>>,
}

impl Writing {
    /// Begins the writing under this grant. The caller returns the [stake](Stake::first) in it.
    pub(super) fn by_one(grant: &Arc<Grant>) -> Self {
        Self { grant: Arc::downgrade(grant), writers: AtomicUsize::new(1) }
    }

    /// Returns the grant, unless all holds have ended.
    pub(super) fn grant(&self) -> Option<Arc<Grant>> {
        self.grant.upgrade()
    }
}

impl Stake {
    /// Returns the stake of the first writer.
    pub(super) fn first(writing: &Arc<Writing>) -> Self {
        Self { writing: Some(writing.clone()) }
    }

    /// Returns one more stake, or `None` if the writing has ended.
    pub(super) fn join(writing: &Arc<Writing>) -> Option<Self> {
        let more = |writers: usize| (writers > 0).then_some(writers + 1);
        writing.writers.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self { writing: Some(writing.clone()) })
    }

    pub(super) fn is_there(&self) -> bool {
        self.writing.is_some()
    }

    /// Gives up the stake, and returns the writing if this was the last one. The caller then has to downgrade or release
    /// the lease.
    pub(super) fn give_up(mut self) -> Option<Arc<Writing>> {
        self.end()
    }

    fn end(&mut self) -> Option<Arc<Writing>> {
        let writing = self.writing.take()?;
        (writing.writers.fetch_sub(1, Ordering::AcqRel) == 1).then_some(writing)
    }
}

impl Drop for Stake {
    fn drop(&mut self) {
        if let Some(grant) = self.end().and_then(|writing| writing.grant()) {
            grant.downgrade_later();
        }
    }
}
