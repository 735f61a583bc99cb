//! Annotated functions.

mod contended;
mod endings;
mod exclusion;
mod groups;
mod installation;
mod loss;
mod map_err;
mod modes;
mod on_lost;
mod paths;
mod permits;
mod reentrancy;
mod shapes;
mod sync;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that it was dropped.
#[derive(Default)]
pub(crate) struct Tracer(Arc<AtomicBool>);

impl Tracer {
    pub(crate) fn new() -> (Self, Arc<AtomicBool>) {
        let tracer = Self::default();
        let dropped = tracer.0.clone();
        (tracer, dropped)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Detects two callers that are inside at the same time.
#[derive(Default)]
struct Room(AtomicBool);

impl Room {
    /// Enters, gives all other calls a chance to enter, and leaves.
    async fn visit(&self) {
        assert!(!self.0.swap(true, Ordering::SeqCst), "two callers are inside at the same time");
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.0.store(false, Ordering::SeqCst);
    }

    /// Checks for as long as a visit takes that no caller is inside.
    async fn watch(&self) {
        for _ in 0..10 {
            assert!(!self.0.load(Ordering::SeqCst), "a caller is inside");
            tokio::task::yield_now().await;
        }
    }
}
