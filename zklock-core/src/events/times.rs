//! Counts durations, rounded to intervals whose width grows with them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of durations in each of many intervals. An interval is a sixteenth of its octave. A duration of 2^40 µs
/// (12.7 days) or more counts as one of the last interval.
pub(crate) struct Times([AtomicU64; INTERVALS]);

impl Times {
    pub(super) fn note(&self, duration: Duration) {
        self.0[interval(duration)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the middle of each interval in seconds, and the number of durations in it.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        counts.enumerate().map(|(interval, count)| (middle(interval), count))
    }
}

impl Default for Times {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.counts().filter(|(_, count)| *count > 0)).finish()
    }
}

/// Returns the interval of a duration.
fn interval(duration: Duration) -> usize {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros < PARTS {
        return micros as usize;
    }
    let octave = u64::from(micros.ilog2());
    // The bits behind the first one.
    let part = (micros >> (octave - PART_BITS)) - PARTS;
    let place = (octave - PART_BITS + 1) * PARTS + part;
    (place as usize).min(INTERVALS - 1)
}

/// Returns the middle of an interval in seconds.
fn middle(interval: usize) -> f64 {
    let (octave, part) = (interval as u64 / PARTS, interval as u64 % PARTS);
    let micros = match octave {
        0 => part as f64 + 0.5,
        _ => ((PARTS + part) as f64 + 0.5) * ((1_u64 << (octave - 1)) as f64),
    };
    micros / 1e6
}

const PART_BITS: u64 = 4;
/// The number of intervals of an octave.
const PARTS: u64 = 1 << PART_BITS;
/// From a microsecond to 2^40 of them.
const INTERVALS: usize = 37 * PARTS as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_once_and_rounded_by_half_a_microsecond_or_about_three_percent() {
        let mut micros = 0_u64;
        while micros < 7 * 24 * 3_600 * 1_000_000 {
            let times = Times::default();
            times.note(Duration::from_micros(micros));
            let counted: Vec<_> = times.counts().filter(|(_, count)| *count > 0).collect();
            let [(seconds, 1)] = counted[..] else { panic!("{counted:?}") };
            let error = (seconds * 1e6 - micros as f64).abs();
            let most = if micros < 16 { 0.5 + 1e-9 } else { 0.032 * micros as f64 };
            assert!(error <= most, "{micros}: {seconds}");
            micros += micros / 7 + 1;
        }
    }

    #[test]
    fn the_shortest_and_the_longest_durations_are_counted() {
        let times = Times::default();
        times.note(Duration::ZERO);
        times.note(Duration::from_micros((1 << 40) - 1));
        times.note(Duration::from_micros(1 << 40));
        times.note(Duration::MAX);
        let counts: Vec<_> = times.counts().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[INTERVALS - 1], counts.iter().sum()), (1, 3, 4));
    }
}
