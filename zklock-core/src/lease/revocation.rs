//! Asking a holder to release, as Curator's `Revoker` does: by the data of the holder's node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::session::fault::Fault;

use super::Tenure;

/// What a holder's node says once it was asked to release (Curator's `LockInternals.REVOKE_MESSAGE`).
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// Whether the holder was asked to release.
#[derive(Debug, Default)]
pub(crate) struct Revocation {
    asked: CancellationToken,
    /// Somebody looks at the node's data; nobody does before it is of interest, as that costs requests.
    is_watched: AtomicBool,
    /// The release has begun: nobody is to be told any more.
    closed: CancellationToken,
    /// The lease has ended.
    ended: CancellationToken,
}

impl Revocation {
    /// Waits until the holder was asked to release; for ever if it never is.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Waits until the holder was asked or releases, and tells whether it was asked.
    pub(crate) async fn asked_before_release(&self) -> bool {
        self.closed.run_until_cancelled(self.asked.cancelled()).await.is_some()
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Claims to be the one who looks; the first one does.
    pub(crate) fn claim(&self) -> bool {
        !self.is_watched.swap(true, Ordering::AcqRel)
    }
}

/// Looks at the node's data until it asks for the release, or the lease has ended.
pub(crate) async fn watch(tenure: Arc<Tenure>) {
    tokio::select! {
        biased;
        () = tenure.revocation.ended.cancelled() => {}
        _ = tenure.lost() => {}
        () = look(&tenure) => {}
    }
}

async fn look(tenure: &Tenure) {
    // A release uses the watch up by deleting the node; dropped before, it would cost a request to remove it.
    while !tenure.revocation.closed.is_cancelled() {
        let node = tenure.node().await;
        match tenure.session.ops().read_and_watch(&node).await {
            Ok(read) if read.data == REVOKE => return tenure.revocation.asked.cancel(),
            Ok(read) => read.watch.changed().await,
            // Another node may have taken its place; else the lease ends.
            Err(Fault::NoNode | Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(_) => return,
        }
    }
}

/// Between attempts to read.
const PAUSE: Duration = Duration::from_millis(200);
