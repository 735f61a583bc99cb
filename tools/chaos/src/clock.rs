//! The clock that all processes of one machine share, and that includes the time during which the machine sleeps.
//!
//! It is read without libc, so that a process with a skewed clock reads the true one. Uses no other module.

use rustix::time::{ClockId, clock_gettime};

/// Returns the nanoseconds since the machine was started.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanoseconds.unwrap_or_default()
}
