//! The rate of the servers' clock against that of this machine.
//!
//! The servers stamp each change of a node with the time of their leader. The time between two changes is therefore
//! known by both clocks, up to the round trips.

use std::time::{Duration, Instant};

use tokio::time::sleep;
use zookeeper_client as zk;

use super::question::Question;

/// One second of this machine, in seconds of the servers: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) least: f64,
    pub(super) most: f64,
}

/// A change of a node, on both clocks.
#[derive(Clone, Copy, Debug)]
struct Mark {
    sent: Instant,
    answered: Instant,
    /// In milliseconds.
    stamp: i64,
}

/// Measures the rate by changes of a node.
pub(super) async fn rate(
    client: &zk::Client,
    node: &str,
    question: Question,
) -> Result<Option<Rate>, String> {
    let first = mark(client, node, question).await?;
    sleep(SPAN).await;
    let last = mark(client, node, question).await?;
    Ok(Rate::between(&first, &last))
}

/// Changes the node a few times, and returns the change with the shortest round trip.
async fn mark(client: &zk::Client, node: &str, question: Question) -> Result<Mark, String> {
    let mut best: Option<Mark> = None;
    for _ in 0..CHANGES {
        let sent = Instant::now();
        let stat = question.ask(client.set_data(node, b"", None)).await?;
        let mark = Mark { sent, answered: Instant::now(), stamp: stat.mtime };
        if best.is_none_or(|best| mark.took() < best.took()) {
            best = Some(mark);
        }
    }
    best.ok_or_else(|| "no change was made".to_owned())
}

impl Mark {
    fn took(&self) -> Duration {
        self.answered - self.sent
    }
}

impl Rate {
    /// Returns `None` if the round trips were longer than the time between the marks.
    fn between(first: &Mark, last: &Mark) -> Option<Self> {
        let shortest = last.sent.checked_duration_since(first.answered)?.as_secs_f64();
        let longest = (last.answered - first.sent).as_secs_f64();
        let theirs = last.stamp.checked_sub(first.stamp)? as f64 / 1_000.0;
        // A stamp has no fractions of a millisecond.
        let rate = Self { least: (theirs - 0.001) / longest, most: (theirs + 0.001) / shortest };
        (shortest > 0.0).then_some(rate)
    }

    /// Tells whether the clocks differ by more than locks tolerate, with certainty.
    pub(super) fn is_wrong(&self) -> bool {
        self.least > 1.0 + TOLERANCE || self.most < 1.0 - TOLERANCE
    }

    /// Tells whether the clocks differ by no more than locks tolerate, with certainty.
    pub(super) fn is_right(&self) -> bool {
        self.least >= 1.0 - TOLERANCE && self.most <= 1.0 + TOLERANCE
    }
}

/// The difference of rates that locks tolerate: a lock counts 99 % of the session timeout.
pub(super) const TOLERANCE: f64 = 0.01;
/// The time between both measurements.
const SPAN: Duration = Duration::from_secs(1);
/// The changes of one measurement.
const CHANGES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// A change after a time here, with the time of the servers.
    fn mark(start: Instant, after_ms: u64, took_ms: u64, stamp: i64) -> Mark {
        let sent = start + Duration::from_millis(after_ms);
        Mark { sent, answered: sent + Duration::from_millis(took_ms), stamp }
    }

    #[test]
    fn equal_clocks_are_right_and_different_ones_wrong() {
        let start = Instant::now();
        let first = mark(start, 0, 1, 5_000);
        let rate = |stamp| Rate::between(&first, &mark(start, 1_000, 1, stamp)).unwrap();
        let equal = rate(6_000);
        assert!(equal.is_right() && !equal.is_wrong() && equal.least < 1.0 && equal.most > 1.0, "{equal:?}");
        for stamp in [5_980, 6_020, 4_000] {
            assert!(rate(stamp).is_wrong() && !rate(stamp).is_right(), "{stamp}");
        }
    }

    #[test]
    fn long_round_trips_leave_the_rate_open() {
        let start = Instant::now();
        let first = mark(start, 0, 100, 5_000);
        let rate = Rate::between(&first, &mark(start, 1_100, 100, 6_150)).unwrap();
        assert!(!rate.is_right() && !rate.is_wrong(), "{rate:?}");
        assert_eq!(Rate::between(&first, &mark(start, 50, 100, 5_100)), None);
        assert_eq!(Rate::between(&mark(start, 0, 1, i64::MIN), &mark(start, 1_000, 1, i64::MAX)), None);
    }
}
