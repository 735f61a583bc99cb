//! Timers that need no runtime. The thread of a client serves those of its tasks, beside its connection.

use std::time::{Duration, Instant};

use futures_lite::future::or;
use futures_util::FutureExt;

use crate::interleaving;

/// No value came in time.
#[derive(Debug)]
pub(crate) struct Elapsed;

/// Waits for this long.
pub(crate) fn sleep(wait: Duration) -> impl Future<Output = ()> {
    interleaving::timer(wait).map(drop)
}

/// Waits until this time.
pub(crate) fn sleep_until(end: Instant) -> impl Future<Output = ()> {
    sleep(end.saturating_duration_since(Instant::now()))
}

/// Waits for a value for this long.
pub(crate) fn timeout<T>(
    wait: Duration,
    value: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Elapsed>> {
    or(value.map(Ok), sleep(wait).map(|()| Err(Elapsed)))
}
