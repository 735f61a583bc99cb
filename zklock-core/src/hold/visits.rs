//! The entries alone inside of a hold.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The entries alone inside of a hold, of which there is one at a time. `T` are the ties of such an entry, which has its
/// place inside of the hold by them. They are made on demand.
#[derive(Debug)]
pub(super) struct Visits<T> {
    /// The number of entries that have ended. It changes under the mutex.
    ended: AtomicU64,
    /// The ties of the present entry.
    ties: Mutex<Option<Arc<T>>>,
}

impl<T> Visits<T> {
    /// Returns the number of entries that have ended.
    #[inline]
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the ties of the present entry, for the entry itself.
    pub(super) fn ties(&self, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        self.lock().get_or_insert_with(make).clone()
    }

    /// Calls a function with the ties of the entry before which this many have ended, unless it has ended too. It cannot
    /// end meanwhile. Neither function runs code of users.
    pub(super) fn with<R>(
        &self,
        nth: u64,
        make: impl FnOnce() -> Option<Arc<T>>,
        look: impl FnOnce(&T) -> R,
    ) -> Option<R> {
        let mut ties = self.lock();
        if self.ended() != nth {
            return None;
        }
        if ties.is_none() {
            *ties = make();
        }
        ties.as_deref().map(look)
    }

    /// Ends the present entry, and returns its ties. Without ties, the caller gives its admission up.
    pub(super) fn end(&self) -> Option<Arc<T>> {
        let mut ties = self.lock();
        self.ended.fetch_add(1, Ordering::AcqRel);
        ties.take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.ties.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Visits<T> {
    fn default() -> Self {
        Self { ended: AtomicU64::new(0), ties: Mutex::new(None) }
    }
}
