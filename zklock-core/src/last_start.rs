//! The last start under `once_per`, which a node at the path `tick` records.
//!
//! It is a pure function of the node's data and of the server time at which the data was written. [`cache`] is a client's
//! memory of it.

mod cache;

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use crate::error::LockError;

pub(crate) use self::cache::{Answer, PeriodCache, Polled};

/// A period, during which work may start once, in whole milliseconds of the servers' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Period(i64);

impl Period {
    pub(crate) fn new(period: Duration) -> Result<Self, LockError> {
        match i64::try_from(period.as_millis()) {
            Ok(0) => {
                let reason = "the period must be at least a millisecond, the resolution of the servers' time";
                Err(LockError::InvalidConfig { setting: "once_per", reason: reason.into() })
            }
            Ok(millis) => Ok(Self(millis)),
            // A period too long to count never ends.
            Err(_) => Ok(Self(i64::MAX)),
        }
    }

    fn as_duration(self) -> Duration {
        Duration::from_millis(self.0.unsigned_abs())
    }

    /// Returns the earliest time of the next start, if the last one counts from `last`.
    ///
    /// A start may come a little early. A timer of the same period is never quite regular, and
    /// would otherwise miss every other start. The next period makes up for it: it counts from the
    /// time at which the early start was due.
    fn next(self, last: i64) -> i64 {
        last.saturating_add(self.0 - self.0 / EARLY)
    }
}

/// The divisor for how early a start may come: a twentieth of the period.
const EARLY: i64 = 20;

/// Clocks of servers that differ by less are usual.
const FAR: Duration = Duration::from_secs(60);

/// A start that took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    /// The server time from which the period of this start counts, in milliseconds.
    from: i64,
    by: Uuid,
}

/// The data that an attempt writes to the node, whether or not the attempt turns out to be a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The last start before this record.
    last: Option<Start>,
    period: Period,
    attempt: Uuid,
}

impl Record {
    pub(crate) fn new(before: Option<LastStart>, period: Period, attempt: Uuid) -> Self {
        Self { last: before.map(|last| last.start), period, attempt }
    }

    /// Creates a record that only asks for the server time, and is never a start.
    pub(crate) fn question(before: LastStart, period: Period) -> Self {
        Self::new(Some(before), period, Uuid::nil())
    }

    /// Returns the last start after this record was written at the server time `written`.
    pub(crate) fn written_at(self, written: i64) -> LastStart {
        let Self { last, period, attempt } = self;
        let from = match last {
            Some(last) if attempt.is_nil() || written < period.next(last.from) => {
                return LastStart { start: last, written, attempt };
            }
            Some(last) => written.max(last.from.saturating_add(period.0)),
            None => written,
        };
        LastStart { start: Start { from, by: attempt }, written, attempt }
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split(' ').collect();
        let (last, period, attempt) = match words[..] {
            [period, attempt] => (None, period, attempt),
            [period, attempt, from, by] => {
                (Some(Start { from: from.parse().ok()?, by: by.parse().ok()? }), period, attempt)
            }
            _ => return None,
        };
        let period = Period(period.parse().ok().filter(|millis| *millis > 0)?);
        Some(Self { last, period, attempt: attempt.parse().ok()? })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.period.0, self.attempt)?;
        self.last.map_or(Ok(()), |Start { from, by }| write!(f, " {from} {by}"))
    }
}

/// The last start, from the last record of it and the server time at which the record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastStart {
    start: Start,
    /// The server time of the last record, in milliseconds.
    written: i64,
    /// The id of the attempt that wrote it.
    attempt: Uuid,
}

/// The error for a node whose data is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotATick;

impl LastStart {
    /// Reads the data of a node. Returns `None` for a node without data, which records no start yet.
    pub(crate) fn read(data: &[u8], written: i64) -> Result<Option<Self>, NotATick> {
        let text = std::str::from_utf8(data).map_err(|_| NotATick)?;
        match text {
            "" => Ok(None),
            text => Record::parse(text).map(|record| Some(record.written_at(written))).ok_or(NotATick),
        }
    }

    /// Returns the id of the attempt that made the start.
    pub(crate) fn started_by(&self) -> Uuid {
        self.start.by
    }

    /// Returns `true` if the attempt with this id made the start.
    pub(crate) fn is_start_of(&self, attempt: Uuid) -> bool {
        self.started_by() == attempt
    }

    /// Returns `true` if the record of this attempt was written, so that its outcome is known.
    pub(crate) fn settles(&self, attempt: Uuid) -> bool {
        self.attempt == attempt || self.is_start_of(attempt)
    }

    /// Returns for how long after the record was written no start is possible, in server time.
    pub(crate) fn closed_for(&self, period: Period) -> Duration {
        let millis = period.next(self.start.from).saturating_sub(self.written);
        Duration::from_millis(millis.try_into().unwrap_or_default())
    }

    /// Returns by how much the last start is ahead of the time at which the record was written, if no start is possible
    /// for far longer than the period. The servers' clock was ahead at that start, or has been set back since.
    pub(crate) fn ahead(&self, period: Period) -> Option<Duration> {
        let is_far = self.closed_for(period) > period.as_duration() + FAR;
        let ahead = self.start.from.saturating_sub(self.written);
        is_far.then(|| Duration::from_millis(ahead.try_into().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: u64) -> Period {
        Period::new(Duration::from_secs(seconds)).unwrap()
    }

    /// Returns the times whose attempts are starts.
    fn starts(period: Period, times: &[i64]) -> Vec<i64> {
        let (mut tick, mut starts) = (None, Vec::new());
        for (&time, attempt) in times.iter().zip(1..) {
            let attempt = Uuid::from_u128(attempt);
            let now = Record::new(tick, period, attempt).written_at(time);
            starts.extend(now.is_start_of(attempt).then_some(time));
            tick = Some(now);
        }
        starts
    }

    const ONE: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    #[test]
    fn the_first_attempt_in_each_period_is_a_start() {
        assert!(Period::new(Duration::from_micros(999)).is_err());
        let (second, endless) = (1_000, u64::MAX);
        for (why, period, times, expected) in [
            ("in turn", second, &[5_000, 5_001, 5_900, 6_000, 6_200, 7_010][..], &[5_000, 6_000, 7_010][..]),
            ("early starts are made up for", second, &[0, 950, 1_900, 1_949, 1_950, 2_900], &[0, 950, 1_950]),
            ("one follows a long pause", second, &[0, 10_400, 10_900, 11_350], &[0, 10_400, 11_350]),
            ("times go back", second, &[5_000, 4_000, 1_000, 5_500, 6_000], &[5_000, 6_000]),
            (
                "a timer is early",
                10_000,
                &[0, 9_990, 20_005, 29_990, 40_000],
                &[0, 9_990, 20_005, 29_990, 40_000],
            ),
            ("the shortest period", 1, &[7, 7, 8], &[7, 8]),
            ("the longest period", endless, &[0, i64::MAX / 2], &[0]),
        ] {
            let period = Period::new(Duration::from_millis(period)).unwrap();
            assert_eq!(starts(period, times), expected, "{why}");
        }
    }

    #[test]
    fn a_start_by_a_clock_that_was_far_ahead_is_known_by_the_time_until_the_next_one() {
        let hour = seconds(3_600);
        let start = Record::new(None, hour, ONE).written_at(10_000_000);
        let asked_at = |now| Record::question(start, hour).written_at(now).ahead(hour);
        assert_eq!(asked_at(10_000_000), None);
        // Less than a minute longer than the period, with the twentieth by which a start may be early.
        assert_eq!(asked_at(10_000_000 - 239_000), None);
        assert_eq!(asked_at(10_000_000 - 241_000), Some(Duration::from_secs(241)));
        assert_eq!(asked_at(0), Some(Duration::from_secs(10_000)));
    }

    #[test]
    fn another_period_counts_from_the_last_start() {
        let hourly = Record::new(None, seconds(3_600), ONE).written_at(0);
        let tried = Record::new(Some(hourly), seconds(60), OTHER);
        assert!(!tried.written_at(30_000).is_start_of(OTHER));
        assert!(tried.written_at(60_000).is_start_of(OTHER));
    }

    #[test]
    fn a_start_is_known_again_behind_the_attempts_of_others() {
        let start = Record::new(None, seconds(60), ONE).written_at(0);
        let tried = Record::new(Some(start), seconds(60), OTHER).written_at(30_000);
        assert!(tried.is_start_of(ONE) && tried.settles(ONE));
        assert!(!tried.is_start_of(OTHER) && tried.settles(OTHER));
        assert!(!start.settles(OTHER));
    }

    #[test]
    fn a_question_is_no_start_although_it_is_time() {
        let start = Record::new(None, seconds(60), ONE).written_at(0);
        let asked = Record::question(start, seconds(60)).written_at(61_000);
        assert!(asked.is_start_of(ONE) && asked.closed_for(seconds(60)).is_zero());
        let next = Record::new(Some(asked), seconds(60), OTHER).written_at(61_001);
        assert!(next.is_start_of(OTHER));
    }

    #[test]
    fn a_node_is_closed_until_the_next_start_is_possible() {
        let tick = Record::new(None, seconds(10), ONE).written_at(1_000);
        assert_eq!(tick.closed_for(seconds(10)), Duration::from_millis(9_500));
        let early = Record::new(Some(tick), seconds(10), OTHER).written_at(5_000);
        assert_eq!(early.closed_for(seconds(10)), Duration::from_millis(5_500));
        assert_eq!(early.closed_for(seconds(1)), Duration::ZERO);
    }

    #[test]
    fn a_record_is_text_that_is_read_again() {
        let first = Record::new(None, seconds(60), ONE);
        assert_eq!(first.to_string(), "60000 00000000-0000-0000-0000-000000000001");
        let next = Record::new(Some(first.written_at(-5)), seconds(60), OTHER);
        let text = "60000 00000000-0000-0000-0000-000000000002 -5 00000000-0000-0000-0000-000000000001";
        assert_eq!(next.to_string(), text);
        let asked = Record::question(first.written_at(7), seconds(60));
        for record in [first, next, asked] {
            assert_eq!(LastStart::read(record.to_string().as_bytes(), 9), Ok(Some(record.written_at(9))));
        }
    }

    #[test]
    fn other_data_is_none_of_ours() {
        assert_eq!(LastStart::read(b"", 0), Ok(None));
        for foreign in [
            "127.0.0.1".to_owned(),
            format!("0 {ONE}"),
            format!("-1 {ONE}"),
            format!("soon {ONE}"),
            format!("1 {ONE} 1"),
            format!("1 {ONE} 1 1"),
            format!("1 {ONE} 1 {ONE} "),
            "1 1".to_owned(),
        ] {
            assert_eq!(LastStart::read(foreign.as_bytes(), 0), Err(NotATick), "{foreign}");
        }
        assert_eq!(LastStart::read(b"\xff", 0), Err(NotATick));
    }

    proptest! {
        #[test]
        fn there_are_never_more_starts_than_periods(
            gaps in proptest::collection::vec(0..3_000_i64, 1..200),
            period in 1..2_000_u64,
        ) {
            let times: Vec<_> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            let starts = starts(Period::new(Duration::from_millis(period)).unwrap(), &times);
            let period = period as i64;
            for (first, start) in starts.iter().enumerate() {
                for (later, other) in starts.iter().enumerate().skip(first + 1) {
                    let periods = (later - first) as i64;
                    prop_assert!(other - start >= periods * period - period / EARLY);
                }
            }
        }
    }
}
