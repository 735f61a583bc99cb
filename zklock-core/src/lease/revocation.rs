//! Asking a holder to release, as Curator's `Revoker` does: by the data of the holder's node.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// What a holder's node says once it was asked to release (Curator's `LockInternals.REVOKE_MESSAGE`).
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// Whether the holder was asked to release.
#[derive(Debug, Default)]
pub(crate) struct Revocation {
    pub(super) asked: CancellationToken,
    /// Somebody looks at the node's data; nobody does before it is of interest, as that costs requests.
    is_watched: AtomicBool,
    /// The release has begun: nobody is to be told any more.
    pub(super) closed: CancellationToken,
    /// The lease has ended.
    pub(super) ended: CancellationToken,
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
