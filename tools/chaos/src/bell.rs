//! The end of a run, which all of its threads wait for. Uses no other module.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A bell that rings once. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    pub(crate) fn ring(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(crate) fn has_rung(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this time, or until the bell rings.
    pub(crate) fn wait(&self, time: Duration) {
        let rung = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(rung, time, |rung| !*rung);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
