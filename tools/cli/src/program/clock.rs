//! The clock that all processes of one machine share, and that includes the time during which the machine sleeps.
//!
//! The clock of locks is the same one.

use std::io;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the time since the machine was started.
pub(super) fn now() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_BOOTTIME)?.into())
}
