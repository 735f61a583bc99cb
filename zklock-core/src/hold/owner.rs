//! The lock that a logical call holds, and the number of its holds.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::Client;
use crate::error::LockError;
use crate::local_queue::Grant;

use super::access::Access;

/// One lock that a logical call holds.
pub(super) struct Owner {
    counts: Mutex<Counts>,
    client: Client,
}

struct Counts {
    /// `None` once the last hold has ended.
    grant: Option<Arc<Grant>>,
    holds: usize,
    /// The holds that write.
    writers: usize,
}

/// The outcome of a downgrade that has been ordered.
pub(super) type Downgrade = Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>>;

/// What remains of a lock after the end of a hold.
pub(super) enum Remaining {
    /// Others hold the lock as before.
    Others,
    /// The last writer has ended, and readers are left.
    Readers(Downgrade),
    /// It was the last hold. Dropping the grant gives the lock back.
    Nobody(Grant),
}

impl Owner {
    pub(super) fn new(client: Client, access: Access, grant: Arc<Grant>) -> Self {
        let writers = usize::from(access == Access::Write);
        Self { counts: Mutex::new(Counts { grant: Some(grant), holds: 1, writers }), client }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Counts one more hold, inside of one that counts meanwhile. A writer is inside of a writer.
    pub(super) fn join(&self, access: Access) {
        let mut counts = self.lock();
        counts.holds += 1;
        counts.writers += usize::from(access == Access::Write);
    }

    /// Counts a hold no more.
    pub(super) fn leave(&self, access: Access) -> Remaining {
        // Ordered while this hold counts: nobody else has the lock yet, and the release will be behind it.
        let downgrade = if access == Access::Write { self.stop_writing() } else { None };
        let mut counts = self.lock();
        counts.holds -= 1;
        let grant = if counts.holds == 0 { counts.grant.take() } else { None };
        drop(counts);
        // Nobody else owns the grant: a writer that orders a downgrade gives its clone back before it counts no more.
        match (grant.and_then(Arc::into_inner), downgrade) {
            (Some(grant), _) => Remaining::Nobody(grant),
            (None, Some(downgrade)) => Remaining::Readers(downgrade),
            (None, None) => Remaining::Others,
        }
    }

    /// Counts a writer no more, whose hold still counts. Orders the downgrade if it was the last one and readers are left.
    fn stop_writing(&self) -> Option<Downgrade> {
        let mut counts = self.lock();
        counts.writers -= 1;
        let has_readers = counts.writers == 0 && counts.holds > 1;
        let grant = if has_readers { counts.grant.clone() } else { None };
        drop(counts);
        grant.map(|grant| Box::pin(grant.downgrade()) as _)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
