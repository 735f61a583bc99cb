//! The requests of other clients to release a hold, which are reported until the hold ends.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::lease;

use super::Hold;
use super::ending::{Ending, OnRevoke};

impl Hold {
    /// Returns a token that is cancelled when this hold ends.
    pub(crate) fn end(&self) -> CancellationToken {
        self.ending().token()
    }

    /// Keeps a callback until this hold ends.
    pub(crate) fn keep(&self, callback: &Arc<OnRevoke>) {
        self.ending().keep(callback.clone());
    }

    fn ending(&self) -> Arc<Ending> {
        // This hold lives, so its node has an end.
        self.node().ending().unwrap_or_default()
    }

    /// Starts a task that watches the node's data for a request to release, unless there is one already.
    pub(crate) fn watch_revocation(&self) {
        if self.tenure().claim_revocations() {
            self.client().worker().spawn(lease::watch_revocation(self.tenure().clone()));
        }
    }
}
