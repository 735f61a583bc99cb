//! Timers that need no runtime. The thread of a client serves those of its tasks, beside its connection.

use std::time::{Duration, Instant};

use async_io::Timer;
use futures_lite::future::or;
use futures_util::FutureExt;

/// No value came in time.
#[derive(Debug)]
pub(crate) struct Elapsed;

/// Waits for this long.
pub(crate) fn sleep(wait: Duration) -> impl Future<Output = ()> {
    Timer::after(wait).map(drop)
}

/// Waits until this time.
pub(crate) fn sleep_until(end: Instant) -> impl Future<Output = ()> {
    Timer::at(end).map(drop)
}

/// Waits for a value for this long.
pub(crate) fn timeout<T>(
    wait: Duration,
    value: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Elapsed>> {
    or(value.map(Ok), sleep(wait).map(|()| Err(Elapsed)))
}
