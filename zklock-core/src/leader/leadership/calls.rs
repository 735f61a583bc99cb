//! The calls under a term, for which a shutdown waits.

use std::sync::{Mutex, PoisonError};

use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The calls under a term.
#[derive(Default)]
pub(super) struct Calls {
    present: TaskTracker,
    /// Held while a call is added, and while the term ends because there is none.
    adding: Mutex<()>,
}

/// A call under a term. While this exists, a shutdown waits for it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Call {
    _unfinished: TaskTrackerToken,
}

impl Calls {
    /// Adds a call. The caller then checks the term: either the end of the term waits for the call, or the call sees the
    /// end.
    pub(super) fn begin(&self) -> Call {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        Call { _unfinished: self.present.token() }
    }

    /// Waits until there is none, and calls a function before there is another one.
    pub(super) async fn until_none(&self, then: impl Fn()) {
        self.present.close();
        loop {
            self.present.wait().await;
            let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
            if self.present.is_empty() {
                return then();
            }
        }
    }
}
