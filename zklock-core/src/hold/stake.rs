//! Counts the holds for writing of one lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::cohort::Grant;

/// The part of one hold in the writing under a lease. When the last stake is dropped while readers
/// are left under the lease, the lock is downgraded, so that others may read too.
#[derive(Debug)]
pub(super) struct Stake {
    grant: Weak<Grant>,
    /// Taken when the stake is given up.
    writers: Option<Arc<AtomicUsize>>,
}

impl Stake {
    pub(super) fn first(grant: &Arc<Grant>) -> Self {
        Self { grant: Arc::downgrade(grant), writers: Some(Arc::new(AtomicUsize::new(1))) }
    }

    /// Gives up the stake, and tells whether it was the last one. If so, the caller has to
    /// downgrade or release the lease.
    pub(super) fn was_last(mut self) -> bool {
        self.give_up()
    }

    fn give_up(&mut self) -> bool {
        self.writers.take().is_some_and(|writers| writers.fetch_sub(1, Ordering::AcqRel) == 1)
    }
}

impl Clone for Stake {
    fn clone(&self) -> Self {
        if let Some(writers) = &self.writers {
            writers.fetch_add(1, Ordering::AcqRel);
        }
        Self { grant: self.grant.clone(), writers: self.writers.clone() }
    }
}

impl Drop for Stake {
    fn drop(&mut self) {
        if self.give_up()
            && let Some(grant) = self.grant.upgrade()
        {
            grant.downgrade_later();
        }
    }
}
