//! The pauses before a candidate runs again after a failure.

use std::time::Duration;

/// The pauses after failures in a row, each twice as long as the one before.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    last: Duration,
}

impl Backoff {
    /// Returns the pause after one more failure.
    pub(super) fn lengthen(&mut self) -> Duration {
        self.last = (self.last * 2).clamp(SHORTEST, LONGEST);
        self.last
    }

    /// Returns the pause after one more failure, of an attempt that lasted this long.
    ///
    /// The pause is up to a half shorter at random, because candidates that are refused together would
    /// otherwise all try again together. An attempt that lasted longer than any pause begins a new row.
    pub(super) fn lengthen_after(&mut self, attempt: Duration) -> Duration {
        if attempt >= LONGEST {
            self.reset();
        }
        let pause = self.lengthen();
        pause - pause.mul_f64(fastrand::f64() / 2.0)
    }

    pub(super) fn reset(&mut self) {
        self.last = Duration::ZERO;
    }
}

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_begin_again_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..11).map(|_| backoff.lengthen().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
        backoff.reset();
        assert_eq!(backoff.lengthen(), SHORTEST);
    }

    #[test]
    fn a_pause_after_an_attempt_is_between_a_half_and_the_whole() {
        let mut backoff = Backoff::default();
        for _ in 0..100 {
            let whole = (backoff.last * 2).clamp(SHORTEST, LONGEST);
            let pause = backoff.lengthen_after(Duration::ZERO);
            assert!(whole / 2 <= pause && pause <= whole, "{pause:?} of {whole:?}");
        }
        assert!(backoff.lengthen_after(LONGEST) <= SHORTEST);
    }
}
