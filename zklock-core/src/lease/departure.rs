//! The end of a lease at the servers.

use std::sync::atomic::{AtomicU8, Ordering};

use super::tenure::Tenure;

/// How far the release of a lease has come: a [`Stage`].
#[derive(Debug, Default)]
pub(super) struct Departure(AtomicU8);

/// The stages of a release, in their order.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The node is about to be deleted.
    Begun = 1,
    /// The node is gone, or nobody will delete it any more.
    Over = 2,
}

impl Tenure {
    /// Takes note that the node is about to be deleted.
    pub(super) fn begin_departure(&self) {
        self.advance(Stage::Begun);
        self.session.dismiss(self.key);
    }

    /// Takes note that the node is gone, or that nobody will delete it any more.
    pub(super) fn end_departure(&self) {
        self.advance(Stage::Over);
        self.session.dismiss(self.key);
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
        self.departure.0.fetch_max(stage as u8, Ordering::AcqRel);
        self.changed.notify();
    }

    fn is_at(&self, stage: Stage) -> bool {
        self.departure.0.load(Ordering::Acquire) >= stage as u8
    }

    async fn until(&self, stage: Stage) {
        self.changed.until(|| self.is_at(stage).then_some(())).await;
    }
}
