//! The pauses of a client before it opens a session.

use std::time::Duration;

/// The pauses of a client before it opens a session.
///
/// They are partly random, because the clients of a fleet lose their servers, and their sessions, at the same time.
#[derive(Debug)]
pub(super) struct Pauses {
    after_failure: Duration,
}

impl Pauses {
    /// Returns the pause after a session has ended that was open for this time. A session that ends as soon as it is
    /// opened counts as a failure. Any other one ends the row of failures.
    ///
    /// The contenders of the ended session enter their queues again when the next one is open.
    pub(super) fn after_end(&mut self, open_for: Duration) -> Duration {
        if open_for <= LONGEST {
            return self.after_failure();
        }
        *self = Self::default();
        SPREAD.mul_f64(fastrand::f64())
    }

    /// Returns the pause after a session could not be opened, or did not last. It doubles with each failure in a
    /// row, and half of it is random.
    pub(super) fn after_failure(&mut self) -> Duration {
        let pause = self.after_failure;
        self.after_failure = (pause * 2).min(LONGEST);
        pause - pause.mul_f64(fastrand::f64() / 2.0)
    }
}

impl Default for Pauses {
    fn default() -> Self {
        Self { after_failure: SHORTEST }
    }
}

/// The time over which the clients of a fleet, whose sessions have ended together, come back.
const SPREAD: Duration = Duration::from_millis(100);
/// The longest first pause after a failure.
const SHORTEST: Duration = Duration::from_millis(75);
/// The longest pause after a failure.
const LONGEST: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that has lasted.
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_thousand_clients_whose_sessions_ended_together_come_back_over_a_tenth_of_a_second() {
        let mut tenths = [0; 10];
        for _ in 0..1_000 {
            let pause = Pauses::default().after_end(LONG);
            // A pause of the whole time is possible, too.
            tenths[usize::try_from(pause.as_micros() / 10_000).unwrap().min(9)] += 1;
        }
        // A hundred are expected in each. The chance of another outcome is below one in a billion.
        assert!(tenths.iter().all(|count| (40..=180).contains(count)), "{tenths:?}");
    }

    #[test]
    fn pauses_after_failures_double_up_to_a_limit_and_are_half_random() {
        let mut pauses = Pauses::default();
        let mut whole = SHORTEST;
        for _ in 0..20 {
            let pause = pauses.after_failure();
            assert!(whole / 2 <= pause && pause <= whole, "{pause:?} of {whole:?}");
            whole = (whole * 2).min(LONGEST);
        }
        assert_eq!(whole, LONGEST);
    }

    #[test]
    fn a_session_that_was_opened_ends_the_row_of_failures() {
        let mut pauses = Pauses::default();
        for _ in 0..10 {
            pauses.after_failure();
        }
        assert!(pauses.after_end(LONG) <= SPREAD);
        assert!(pauses.after_failure() <= SHORTEST);
    }

    #[test]
    fn sessions_that_end_as_soon_as_they_are_opened_are_opened_at_the_pace_of_failures() {
        let mut pauses = Pauses::default();
        let pauses: Vec<_> = (0..20).map(|_| pauses.after_end(Duration::from_millis(1))).collect();
        assert!(pauses[0] <= SHORTEST);
        assert!(pauses[19] >= LONGEST / 2, "{pauses:?}");
    }
}
