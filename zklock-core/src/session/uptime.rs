//! The clock of leases, which includes the time during which the machine was suspended.

/// A reading of the clock, from which later ones are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(Reading);

/// The nanoseconds since the machine was started. Each step of a body under a lock reads this clock, and this reading is
/// inlined, unlike that of `boot_time`.
#[cfg(any(target_os = "linux", target_os = "android"))]
type Reading = u64;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
type Reading = boot_time::Instant;

impl Origin {
    pub(crate) fn now() -> Self {
        Self(read())
    }

    /// Returns the nanoseconds from an earlier reading to this one.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn since(&self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the nanoseconds from an earlier reading to this one.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn since(&self, earlier: Self) -> u64 {
        self.0.saturating_duration_since(earlier.0).as_nanos() as u64
    }

    /// Returns the nanoseconds since then.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[inline]
    pub(super) fn elapsed(&self) -> u64 {
        // The clock may go back if the process is restored from a checkpoint on another machine.
        read().saturating_sub(self.0)
    }

    /// Returns the nanoseconds since then.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn elapsed(&self) -> u64 {
        // 64 bits of nanoseconds are 584 years.
        self.0.elapsed().as_nanos() as u64
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn read() -> Reading {
    use rustix::time::{ClockId, clock_gettime};

    let since_start = clock_gettime(ClockId::Boottime);
    // Neither is negative, and 64 bits of nanoseconds are 584 years.
    since_start.tv_sec as u64 * 1_000_000_000 + since_start.tv_nsec as u64
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn read() -> Reading {
    boot_time::Instant::now()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use boot_time::Instant;

    use super::*;

    #[test]
    fn the_clock_runs_as_that_of_the_machine_does() {
        let (outer, origin, inner) = (Instant::now(), Origin::now(), Instant::now());
        for _ in 0..1_000 {
            let least = inner.elapsed();
            let passed = Duration::from_nanos(origin.elapsed());
            assert!((least..=outer.elapsed()).contains(&passed), "{passed:?} after {least:?}");
        }
    }
}
