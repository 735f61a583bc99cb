//! The party that is told the progress of an attempt.

use crate::session::drive::Progress;

/// The party that is told the progress of an attempt.
pub(crate) trait Onlooker: Send + Sync {
    /// Takes note of the progress, and tells whether the attempt is still of use.
    fn note(&self, progress: Progress) -> Use;
}

/// Whether an attempt is still of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    GoesOn,
    Over,
}

impl<F: Fn(Progress) + Send + Sync> Onlooker for F {
    fn note(&self, progress: Progress) -> Use {
        self(progress);
        Use::GoesOn
    }
}
