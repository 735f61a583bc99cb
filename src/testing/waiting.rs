//! Waits for a state of the server.

use std::time::{Duration, Instant};

/// Calls `look` until it returns a value.
///
/// # Panics
///
/// Panics after ten seconds, with `what` in the message. The seconds are real time, even if the test's clock
/// is paused.
pub(super) async fn until_some<T>(mut look: impl FnMut() -> Option<T>, what: impl FnOnce() -> String) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < SOON, "timed out after {SOON:?}: waited until {}", what());
        tokio::time::sleep(PAUSE).await;
    }
}

const SOON: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);
