//! The grant that the holds of a logical call share, and their number.

use std::pin::Pin;
use std::sync::Arc;

use crate::change::Mutex;
use crate::client::Client;
use crate::error::LockError;
use crate::local_queue::Grant;

use super::lock_ref::Access;

/// One lock that a logical call holds.
pub(super) struct Owner {
    counts: Mutex<Counts>,
    client: Client,
}

struct Counts {
    /// `None` once the last hold has ended.
    grant: Option<Arc<Grant>>,
    holds: usize,
    /// The holds that read.
    readers: usize,
    /// The holds that write, and are not about to end.
    writers: usize,
}

/// The outcome of a downgrade that has been ordered. Dropping it changes nothing, and it does not keep the grant.
pub(super) type Downgrade = Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>>;

/// What remains of a lock after the end of a hold.
pub(super) enum Remaining {
    /// Others hold the lock as before.
    Others,
    /// The last writer has ended, and readers are left.
    Readers(Downgrade),
    /// It was the last hold, and the lock has been given back.
    Nobody,
}

impl Owner {
    pub(super) fn new(client: Client, access: Access, grant: Arc<Grant>) -> Self {
        let counts = Counts { grant: Some(grant), holds: 0, readers: 0, writers: 0 };
        let owner = Self { counts: Mutex::new(counts), client };
        owner.add_hold(access);
        owner
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Counts one more hold. The one around it counts meanwhile.
    pub(super) fn add_hold(&self, access: Access) {
        let mut counts = self.counts.lock();
        counts.holds += 1;
        counts.readers += usize::from(access == Access::Read);
        counts.writers += usize::from(access == Access::Write);
    }

    /// Stops counting a hold. The last one gives the lock back.
    pub(super) fn remove_hold(&self, access: Access) -> Remaining {
        // Ordered while this hold counts: nobody else has the lock yet, and the release will be behind it.
        let downgrade = if access == Access::Write { self.stop_writing() } else { None };
        let mut counts = self.counts.lock();
        counts.holds -= 1;
        counts.readers -= usize::from(access == Access::Read);
        let grant = if counts.holds == 0 { counts.grant.take() } else { None };
        drop(counts);
        let is_last = grant.is_some();
        // It is given back here, because this is the only reference: a writer that orders a downgrade drops its own before its
        // hold stops counting.
        drop(grant);
        match downgrade {
            _ if is_last => Remaining::Nobody,
            Some(downgrade) => Remaining::Readers(downgrade),
            None => Remaining::Others,
        }
    }

    /// Stops counting a hold as a writer. It still counts as a hold. Orders the downgrade if it was the last writer and
    /// readers are left.
    fn stop_writing(&self) -> Option<Downgrade> {
        let mut counts = self.counts.lock();
        counts.writers -= 1;
        let is_due = counts.writers == 0 && counts.readers > 0;
        let grant = if is_due { counts.grant.clone() } else { None };
        drop(counts);
        grant.map(|grant| Box::pin(grant.downgrade()) as _)
    }
}
