//! Percentiles by nearest rank.

use std::time::Duration;

/// Returns a percentile of durations in ascending order, in microseconds.
pub(crate) fn percentile(sorted: &[Duration], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    let duration = rank.checked_sub(1).and_then(|index| sorted.get(index));
    duration.map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e6)
}
