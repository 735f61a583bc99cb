//! The clock of a server.

use std::time::{Duration, Instant, SystemTime};

/// A clock that starts at the time of the wall clock and is monotonic from then on.
#[derive(Debug)]
pub(super) struct Clock {
    base: Duration,
    start: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        let base = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { base, start: Instant::now() }
    }

    pub(super) fn now(&self) -> Duration {
        self.base + self.start.elapsed()
    }
}
