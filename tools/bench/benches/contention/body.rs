//! The critical section: the part of an operation in which its task holds the lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The body of all critical sections of a measurement.
pub(crate) struct Body {
    entered: AtomicU64,
    /// The number of acquisitions when the first task ended.
    contended: AtomicU64,
    hold: Duration,
}

/// One acquisition.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// The number of acquisitions before this one.
    pub(crate) order: u64,
    pub(crate) at: Instant,
}

impl Body {
    pub(crate) fn new(hold: Duration) -> Self {
        Self { entered: AtomicU64::new(0), contended: AtomicU64::new(u64::MAX), hold }
    }

    pub(crate) async fn run(&self) -> Entered {
        let at = Instant::now();
        let entered = Entered { order: self.entered.fetch_add(1, Ordering::Relaxed), at };
        stay(self.hold).await;
        entered
    }

    /// Records that a task ends, and contends no more.
    pub(crate) fn end(&self) {
        self.contended.fetch_min(self.entered.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns how many acquisitions there were before the first task ended.
    pub(crate) fn contended(&self) -> u64 {
        self.contended.load(Ordering::Relaxed)
    }
}

/// Waits for this time.
///
/// Tokio's timer would round it up to the next millisecond.
pub(crate) async fn stay(time: Duration) {
    if !time.is_zero() {
        // It panics only if the sleep does.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(time)).await;
    }
}
