//! The progress of the release of a lease.

use std::sync::atomic::{AtomicU8, Ordering};

/// The last [`Stage`] that a release has reached, if it has begun.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

/// The stages of a release, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// The node is about to be deleted.
    Begun = 1,
    /// The node is gone, or nobody will delete it any more.
    Over = 2,
}

impl Progress {
    pub(super) fn advance(&self, stage: Stage) {
        self.0.fetch_max(stage as u8, Ordering::AcqRel);
    }

    pub(super) fn is_at(&self, stage: Stage) -> bool {
        self.0.load(Ordering::Acquire) >= stage as u8
    }
}
