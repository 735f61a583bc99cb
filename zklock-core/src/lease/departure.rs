//! The end of a lease at the servers.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

use crate::change;

/// How far the release of a lease has come.
#[derive(Debug, Default)]
pub(super) struct Departure {
    /// A [`Stage`].
    stage: AtomicU8,
    changed: Notify,
}

/// The stages of a release, in their order.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The node is about to be deleted.
    Begun = 1,
    /// The node is gone, or nobody will delete it any more.
    Over = 2,
}

impl Departure {
    pub(super) fn begin(&self) {
        self.advance(Stage::Begun);
    }

    pub(super) fn end(&self) {
        self.advance(Stage::Over);
    }

    pub(super) fn is_departing(&self) -> bool {
        self.is_at(Stage::Begun)
    }

    /// Waits until the release has begun.
    pub(super) async fn until_departing(&self) {
        self.until(Stage::Begun).await;
    }

    /// Waits until the release is over.
    pub(super) async fn until_departed(&self) {
        self.until(Stage::Over).await;
    }

    fn advance(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    fn is_at(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    async fn until(&self, stage: Stage) {
        change::until(&self.changed, || self.is_at(stage).then_some(())).await;
    }
}
