//! Requests to a holder to release, which others write to the data of its node, as Curator's `Revoker` does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use crate::session::fault::Fault;
use crate::session::sentry::Sentry;

use super::tenure::Tenure;

impl Tenure {
    /// Claims the task of watching the node's data, which costs requests. Only the first claim succeeds.
    pub(crate) fn claim_revocations(&self) -> bool {
        !self.is_watched_for_revocation.swap(true, Ordering::AcqRel)
    }

    /// Waits until the holder is asked to release. Waits forever if it never is.
    pub(crate) async fn asked(&self) {
        self.sentry.until(Sentry::is_asked).await;
    }

    /// Waits until the holder is asked to release or the release begins, and tells whether it was asked.
    pub(crate) async fn asked_before_release(&self) -> bool {
        tokio::select! {
            biased;
            () = self.until_departing() => false,
            () = self.asked() => true,
        }
    }
}

/// Watches the node's data until it asks for the release, or the lease has ended.
pub(crate) async fn watch(tenure: Arc<Tenure>) {
    tokio::select! {
        biased;
        () = tenure.until_departed() => {}
        _ = tenure.lost() => {}
        () = look(&tenure) => {}
    }
}

async fn look(tenure: &Tenure) {
    // A release fires the watch by deleting the node. Dropping it earlier would cost a request to remove it.
    while !tenure.is_departing() {
        let node = tenure.node().await;
        match tenure.session.ops().watch_node(&node).await {
            Ok(mut read) => {
                tenure.sentry.note_data(&read.data);
                if tenure.sentry.is_asked() {
                    return;
                }
                read.watch.change().await;
            }
            // Another node may have replaced this one. Otherwise the lease ends.
            Err(Fault::NoNode | Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(_) => return,
        }
    }
}

/// The pause between attempts to read the node's data.
const PAUSE: Duration = Duration::from_millis(200);
