//! The ways in which generated code uses a mutex.

use std::pin::Pin;

use crate::client::ClientId;
use crate::hold::{self, Entry, MutexBody, Sought};

use super::MutexGuard;

impl ClientId {
    /// Enters the mutex at this path again if the current call holds it and nothing is in the way, to run a
    /// body at once.
    #[doc(hidden)]
    #[inline]
    pub fn mutex_again(self, path: &str) -> Option<MutexGuard> {
        hold::enter_again_to_run(Sought::new(self, path, Entry::Mutex)).map(MutexGuard::new)
    }
}

impl<F: Future> MutexBody<F> {
    /// Begins the body under this mutex.
    pub fn begin(self: Pin<&mut Self>, guard: MutexGuard) {
        self.begin_under(guard.into_holds());
    }
}
