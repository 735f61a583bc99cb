//! The entries alone inside of a hold.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The entries alone inside of a hold, of which there is one at a time. `T` are the ties of such an entry, which has its
/// place inside of the hold by them. They are made on demand.
///
/// An entry that nobody sees, such as one whose body ends in its first step, changes nothing here.
#[derive(Debug)]
pub(super) struct Visits<T> {
    /// Twice the number of entries that were seen and have ended, and [`SEEN`] if others may refer to the present entry.
    state: AtomicU64,
    /// The ties of the present entry, which has been seen then.
    ties: Mutex<Option<Arc<T>>>,
}

/// The bit of the state that says that others may refer to the present entry, and that it may have ties.
const SEEN: u64 = 1;

impl<T> Visits<T> {
    /// Returns the number of entries that were seen and have ended.
    #[inline]
    pub(super) fn ended(&self) -> u64 {
        self.state.load(Ordering::Acquire) / 2
    }

    /// Returns whether others may refer to the present entry.
    #[inline]
    pub(super) fn is_seen(&self) -> bool {
        self.state.load(Ordering::Acquire) & SEEN != 0
    }

    /// Takes note that others may refer to the present entry from now on.
    ///
    /// For each entry, the first call of this comes from the thread that polls its body, so that the entry does not end
    /// meanwhile. Those that refer to an entry that has ended may call this too. The present or the next entry is counted
    /// then, although nobody refers to it.
    pub(super) fn see(&self) {
        if !self.is_seen() {
            self.state.fetch_or(SEEN, Ordering::AcqRel);
        }
    }

    /// Returns the ties of the present entry, for the entry itself.
    pub(super) fn ties(&self, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let mut ties = self.lock();
        self.see();
        ties.get_or_insert_with(make).clone()
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
        self.see();
        if ties.is_none() {
            *ties = make();
        }
        ties.as_deref().map(look)
    }

    /// Ends the present entry, and returns its ties. Without ties, the caller gives its admission up.
    #[inline]
    pub(super) fn end(&self) -> Option<Arc<T>> {
        if self.is_seen() { self.end_seen() } else { None }
    }

    fn end_seen(&self) -> Option<Arc<T>> {
        let mut ties = self.lock();
        self.state.store((self.ended() + 1) * 2, Ordering::Release);
        ties.take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.ties.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Visits<T> {
    fn default() -> Self {
        Self { state: AtomicU64::new(0), ties: Mutex::new(None) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn an_entry_has_ties_until_it_ends() {
        let visits = Visits::default();
        visits.see();
        assert!(visits.end().is_none());
        assert_eq!((visits.ended(), visits.with(0, || Some(Arc::new(7)), |ties| *ties)), (1, None));
        assert_eq!(visits.with(1, || Some(Arc::new(7)), |ties| *ties), Some(7));
        assert_eq!(*visits.ties(|| Arc::new(8)), 7);
        assert_eq!((visits.end().as_deref(), visits.ended()), (Some(&7), 2));
        assert!(visits.end().is_none());
    }

    #[test]
    fn an_entry_that_nobody_sees_is_not_counted() {
        let visits = Visits::<u32>::default();
        assert!(visits.end().is_none());
        assert_eq!(visits.ended(), 0);
        visits.see();
        assert!(visits.end().is_none() && visits.end().is_none());
        assert_eq!(visits.ended(), 1);
    }

    #[test]
    fn an_entry_that_has_ended_is_not_taken_for_a_later_one() {
        let visits = Visits::default();
        visits.see();
        assert!(visits.end().is_none());
        for _ in 0..3 {
            // A reference to the first entry is cloned, before and while another entry is inside.
            visits.see();
            assert!(visits.with(0, || Some(Arc::new(7)), |_| ()).is_none());
            assert!(visits.end().is_none() && visits.end().is_none());
        }
    }

    /// Otherwise, something is inside of an entry that has given its admission up.
    #[test]
    fn an_entry_that_ends_meanwhile_has_ties_exactly_if_somebody_has_seen_them() {
        let (visits, begins) = (Visits::default(), Barrier::new(2));
        let look = |nth| {
            begins.wait();
            visits.with(nth, || Some(Arc::new(nth)), |ties| *ties)
        };
        for nth in 0..2_000 {
            visits.see();
            let (seen, ties) = thread::scope(|scope| {
                let seen = scope.spawn(|| look(nth));
                begins.wait();
                let ties = visits.end();
                (seen.join().unwrap(), ties)
            });
            assert_eq!(seen, ties.map(|ties| *ties));
        }
    }
}
