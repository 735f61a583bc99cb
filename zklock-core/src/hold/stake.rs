//! Counts the holds for writing of one lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::client::Client;
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
    /// `None` for a hold that does not write, and for one that has given its stake up. The client performs the downgrade,
    /// and its end would end the session before that.
    writing: Option<(Arc<Writing>, Client)>,
}

impl Writing {
    /// Begins the writing under this grant. The caller returns the [stake](Stake::first) in it.
    pub(super) fn by_one(grant: &Arc<Grant>) -> Self {
        Self { grant: Arc::downgrade(grant), writers: AtomicUsize::new(1) }
    }

    /// Returns the grant, unless all holds have ended.
    fn grant(&self) -> Option<Arc<Grant>> {
        self.grant.upgrade()
    }
}

impl Stake {
    /// Returns the stake of the first writer.
    pub(super) fn first(writing: &Arc<Writing>, client: &Client) -> Self {
        Self { writing: Some((writing.clone(), client.clone())) }
    }

    /// Returns one more stake, or `None` if the writing has ended.
    pub(super) fn join(writing: &Arc<Writing>, client: &Client) -> Option<Self> {
        let more = |writers: usize| (writers > 0).then_some(writers + 1);
        writing.writers.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self { writing: Some((writing.clone(), client.clone())) })
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.writing.is_none()
    }

    /// Gives up the stake, and returns the client if this was the last one. The caller then has to downgrade or release
    /// the lease.
    #[inline]
    pub(super) fn give_up(mut self) -> Option<Client> {
        self.end().map(|(_, client)| client)
    }

    #[inline]
    fn end(&mut self) -> Option<(Arc<Writing>, Client)> {
        let (writing, client) = self.writing.take()?;
        (writing.writers.fetch_sub(1, Ordering::AcqRel) == 1).then_some((writing, client))
    }
}

impl Drop for Stake {
    #[inline]
    fn drop(&mut self) {
        // The client ends last.
        let Some((writing, _client)) = self.end() else { return };
        if let Some(grant) = writing.grant() {
            grant.downgrade_later();
        }
    }
}
