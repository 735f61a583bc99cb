//! The clock of leases, which includes the time during which the machine was suspended.

/// Returns the nanoseconds since an instant that stays the same while this process runs.
///
/// Each step of a body under a lock reads this clock, and this reading is inlined, unlike that of `boot_time`.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(super) fn nanoseconds() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    let since_start = clock_gettime(ClockId::Boottime);
    // Neither is negative, and 64 bits of nanoseconds are 584 years.
    since_start.tv_sec as u64 * 1_000_000_000 + since_start.tv_nsec as u64
}

/// Returns the nanoseconds since an instant that stays the same while this process runs.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn nanoseconds() -> u64 {
    use std::sync::LazyLock;

    use boot_time::Instant;

    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_clock_runs_as_the_clock_of_the_machine_does() {
        let (begun, other) = (nanoseconds(), boot_time::Instant::now());
        // The time of the test does not matter, only that it passes.
        while other.elapsed() < Duration::from_millis(20) {}
        let (least, passed) = (Duration::from_millis(20), Duration::from_nanos(nanoseconds() - begun));
        assert!(passed >= least, "{passed:?}");
        assert!(passed <= other.elapsed() + Duration::from_millis(1), "{passed:?}");
    }
}
