//! The end of a hold, and the callbacks that are kept until then.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

/// The end of a hold, which happens when this value is dropped.
#[derive(Debug)]
pub(super) struct Ending {
    token: DropGuard,
    callbacks: Mutex<Vec<Arc<OnRevoke>>>,
}

impl Default for Ending {
    fn default() -> Self {
        Self { token: CancellationToken::new().drop_guard(), callbacks: Mutex::default() }
    }
}

impl Ending {
    /// Returns a token that is cancelled when the hold ends.
    pub(super) fn token(&self) -> CancellationToken {
        self.token.token().clone()
    }

    pub(super) fn keep(&self, callback: Arc<OnRevoke>) {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).push(callback);
    }
}

/// A callback for a request to release, which is called at most once.
///
/// It belongs to the hold, so that the caller who ends the hold drops it, or the thread that calls it. A task
/// on the client's thread refers to it weakly, and so never drops it.
pub(crate) struct OnRevoke(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl OnRevoke {
    pub(crate) fn new(callback: impl FnOnce() + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(callback))))
    }

    /// Calls the callback on this thread, unless it was called before.
    pub(crate) fn call(&self) {
        let callback = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(callback) = callback {
            callback();
        }
    }
}

impl fmt::Debug for OnRevoke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRevoke").finish_non_exhaustive()
    }
}
