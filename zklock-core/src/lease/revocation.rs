//! Requests to a holder to release, written to the data of its node as Curator's `Revoker` does.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// Whether the holder was asked to release.
#[derive(Debug)]
pub(crate) struct Revocation {
    pub(super) asked: CancellationToken,
    /// Whether a task watches the node's data. The watch costs requests, so it starts only on demand.
    is_watched: AtomicBool,
    /// Cancelled when the release begins. A later request is not to be reported.
    pub(super) closed: CancellationToken,
    /// Cancelled when the lease has ended.
    pub(super) ended: CancellationToken,
}

impl Revocation {
    /// Returns the state of a node that has just come to the head of its queue. `asked` is cancelled when its holder
    /// is asked.
    pub(super) fn new(asked: CancellationToken) -> Self {
        let (closed, ended) = (CancellationToken::new(), CancellationToken::new());
        Self { asked, is_watched: AtomicBool::new(false), closed, ended }
    }

    /// Waits until the holder is asked to release. Waits forever if it never is.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Waits until the holder is asked to release or the release begins, and tells whether it was asked.
    pub(crate) async fn asked_before_release(&self) -> bool {
        self.closed.run_until_cancelled(self.asked.cancelled()).await.is_some()
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Claims the task of watching the node's data. Only the first claim succeeds.
    pub(crate) fn claim(&self) -> bool {
        !self.is_watched.swap(true, Ordering::AcqRel)
    }
}
