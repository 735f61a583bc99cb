//! The critical section, which checks that one contender at a time is inside.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::program::Failure;

/// A counter that is correct only if one contender at a time adds to it.
#[derive(Default)]
pub(crate) struct Section {
    inside: AtomicUsize,
    crowded: AtomicUsize,
    counter: AtomicUsize,
    ended: AtomicBool,
}

impl Section {
    /// Reads the counter, lets other tasks run, and then writes it.
    pub(crate) async fn enter(&self) {
        if self.inside.fetch_add(1, Ordering::SeqCst) > 0 {
            self.crowded.fetch_add(1, Ordering::SeqCst);
        }
        let counter = self.counter.load(Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.counter.store(counter + 1, Ordering::SeqCst);
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns how many operations there were.
    pub(crate) fn operations(&self) -> usize {
        self.counter.load(Ordering::SeqCst)
    }

    /// Ends the measurement: contenders that wait have the lock once more.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Refuses a counter that differs from the number of operations.
    pub(crate) fn check(&self, operations: usize) -> Result<(), Failure> {
        let (counter, crowded) = (self.operations(), self.crowded.load(Ordering::SeqCst));
        if counter == operations && crowded == 0 {
            return Ok(());
        }
        Err(format!("{crowded} of {operations} contenders were not alone, and the counter is {counter}")
            .into())
    }
}
