//! The choices of a schedule.

use shuttle::future::yield_now;
use shuttle::rand::{Rng, thread_rng};

/// Returns `true` once in `n` times on average.
pub(super) fn one_in(n: u32) -> bool {
    thread_rng().gen_range(0..n) == 0
}

/// Returns a number below `bound`.
pub(super) fn below(bound: usize) -> usize {
    thread_rng().gen_range(0..bound)
}

/// Yields to other tasks up to twice.
pub(super) async fn pause() {
    for _ in 0..below(3) {
        yield_now().await;
    }
}
