//! Polling for a state, with a time limit.

use std::thread;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);

/// Polls `attempt` until it returns a value or `within` has passed; `attempt` is called at least once.
///
/// It lets a test wait for a state rather than for a fixed time.
///
/// ```
/// use std::time::Duration;
/// use zklock_testkit::eventually;
///
/// let mut tries = 0..3;
/// assert_eq!(eventually(Duration::from_secs(5), || tries.next().filter(|n| *n == 2)), Some(2));
/// assert_eq!(eventually(Duration::ZERO, || None::<u32>), None);
/// ```
pub fn eventually<T>(within: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = attempt();
        if found.is_some() || start.elapsed() >= within {
            return found;
        }
        thread::sleep(PAUSE);
    }
}
