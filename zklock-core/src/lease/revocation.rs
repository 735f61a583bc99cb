//! Requests to a holder to release, written to the data of its node as Curator's `Revoker` does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::change;
use crate::session::sentry::Sentry;

/// Whether the holder was asked to release.
#[derive(Debug)]
pub(crate) struct Revocation {
    sentry: Arc<Sentry>,
    /// Whether a task watches the node's data. The watch costs requests, so it starts only on demand.
    is_watched: AtomicBool,
    /// Whether the release has begun. A later request is not to be reported.
    is_closed: AtomicBool,
    is_ended: AtomicBool,
    /// Signals that the release has begun, or that the lease has ended.
    changed: Notify,
}

impl Revocation {
    /// Returns the state of a node that has just come to the head of its queue. `sentry` learns that its holder is
    /// asked.
    pub(super) fn new(sentry: Arc<Sentry>) -> Self {
        let (is_watched, is_closed, is_ended, changed) = Default::default();
        Self { sentry, is_watched, is_closed, is_ended, changed }
    }

    /// Waits until the holder is asked to release. Waits forever if it never is.
    pub(crate) async fn asked(&self) {
        self.sentry.until(Sentry::is_asked).await;
    }

    pub(super) fn is_asked(&self) -> bool {
        self.sentry.is_asked()
    }

    /// Waits until the holder is asked to release or the release begins, and tells whether it was asked.
    pub(crate) async fn asked_before_release(&self) -> bool {
        tokio::select! {
            biased;
            () = change::until(&self.changed, || self.is_closed().then_some(())) => false,
            () = self.asked() => true,
        }
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Takes note that the lease has ended.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until the lease has ended.
    pub(super) async fn ended(&self) {
        change::until(&self.changed, || self.is_ended.load(Ordering::Acquire).then_some(())).await;
    }

    /// Claims the task of watching the node's data. Only the first claim succeeds.
    pub(crate) fn claim(&self) -> bool {
        !self.is_watched.swap(true, Ordering::AcqRel)
    }
}
