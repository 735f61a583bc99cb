//! Counts the holds for writing of one lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::lease::Lease;

/// One hold's part in the writing under a lease: when the last one is dropped, and somebody still reads under
/// the lease, others may read too.
#[derive(Debug)]
pub(super) struct Stake {
    lease: Weak<Lease>,
    /// Taken when the stake is given up.
    writers: Option<Arc<AtomicUsize>>,
}

impl Stake {
    pub(super) fn first(lease: &Arc<Lease>) -> Self {
        Self { lease: Arc::downgrade(lease), writers: Some(Arc::new(AtomicUsize::new(1))) }
    }

    /// Gives the stake up, and tells whether it was the last one, with which the caller then has to deal.
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
        Self { lease: self.lease.clone(), writers: self.writers.clone() }
    }
}

impl Drop for Stake {
    fn drop(&mut self) {
        if self.give_up()
            && let Some(lease) = self.lease.upgrade()
        {
            lease.downgrade_later();
        }
    }
}
