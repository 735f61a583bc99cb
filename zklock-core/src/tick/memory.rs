//! Remembers for which ticks it is useless to ask the servers whether the period is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use boot_time::Instant;

use crate::path::NodePath;

use super::{Period, Tick};

/// The ticks whose period this client knows not to be over.
///
/// The memory only saves requests; it never permits a start. The client's clock may run faster than
/// that of the servers by one percent.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Ticks>);

#[derive(Debug, Default)]
struct Ticks {
    by_path: HashMap<String, Seen>,
    /// The number of ticks at which those whose period is over are forgotten.
    limit: usize,
    /// The instant at which all ticks were forgotten. A tick that was written before is not remembered.
    forgotten: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// An instant no later than that of the write.
    at: Instant,
    tick: Tick,
    period: Period,
}

impl Seen {
    fn is_closed(&self, period: Period, now: Instant) -> bool {
        // If the servers' time went back, the tick seems closed for longer than its period. The
        // time may be corrected again, so the tick counts as closed for one period at most.
        let closed_for = self.tick.closed_for(period).min(period.as_duration());
        now.saturating_duration_since(self.at) < closed_for / 100 * 99
    }
}

impl Ticks {
    /// Forgets the ticks whose period is over, and half of the others if they are too many. To ask for one of them again
    /// costs two requests.
    fn forget_some(&mut self) {
        let now = Instant::now();
        self.by_path.retain(|_, seen| seen.is_closed(seen.period, now));
        if self.by_path.len() >= MOST {
            let mut stays = false;
            self.by_path.retain(|_, _| {
                stays = !stays;
                stays
            });
        }
        self.limit = (self.by_path.len() * 2).clamp(LEAST_LIMIT, MOST);
    }
}

impl Memory {
    /// Returns `true` if no start is possible yet at the tick at `path`, and `false` if that is not known.
    pub(crate) fn is_closed(&self, path: &NodePath, period: Period) -> bool {
        let seen = self.ticks().by_path.get(path.full()).copied();
        seen.is_some_and(|seen| seen.is_closed(period, Instant::now()))
    }

    /// Remembers a tick that was written no earlier than `at`. Returns how far it is ahead of the servers' clock, if that
    /// is far and was not known.
    pub(crate) fn note(&self, path: &NodePath, tick: Tick, period: Period, at: Instant) -> Option<Duration> {
        let mut ticks = self.ticks();
        // The question was under way when all ticks were forgotten, and its answer may be outdated.
        if ticks.forgotten.is_some_and(|forgotten| at <= forgotten) {
            return None;
        }
        // If the path contains an argument of the function, there is one tick per value.
        if ticks.by_path.len() >= ticks.limit {
            ticks.forget_some();
        }
        let known = ticks.by_path.insert(path.full().to_owned(), Seen { at, tick, period });
        let was_ahead = known.is_some_and(|known| known.tick.ahead(known.period).is_some());
        tick.ahead(period).filter(|_| !was_ahead)
    }

    /// Forgets every tick, so that the servers are asked again.
    pub(crate) fn forget(&self) {
        let mut ticks = self.ticks();
        ticks.by_path.clear();
        ticks.forgotten = Some(Instant::now());
    }

    fn ticks(&self) -> MutexGuard<'_, Ticks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The smallest limit, below which a cleanup is not worthwhile.
const LEAST_LIMIT: usize = 64;
/// The most ticks that are remembered.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::Record;
    use super::*;

    fn start(written: i64, period: Period) -> Tick {
        Record::new(None, period, Uuid::from_u128(1)).written_at(written)
    }

    fn path(name: &str) -> NodePath {
        NodePath::new("", name).unwrap()
    }

    fn period(length: Duration) -> Period {
        Period::new(length).unwrap()
    }

    #[test]
    fn what_was_written_is_known_until_its_period_is_over() {
        let (memory, hour) = (Memory::default(), period(Duration::from_secs(3_600)));
        assert!(!memory.is_closed(&path("/a"), hour));
        memory.note(&path("/a"), start(0, hour), hour, Instant::now());
        assert!(memory.is_closed(&path("/a"), hour) && !memory.is_closed(&path("/b"), hour));
        let seen = memory.ticks().by_path["/a"];
        // An hour, less the twentieth by which a start may be early, and less one percent.
        let at = |seconds| seen.at.checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(seen.is_closed(hour, at(3_385)) && !seen.is_closed(hour, at(3_387)));
    }

    #[test]
    fn a_time_of_the_servers_that_went_back_closes_a_tick_for_a_period_at_most() {
        let minute = period(Duration::from_secs(60));
        let ahead = Record::new(Some(start(1 << 40, minute)), minute, Uuid::from_u128(2));
        let tick = ahead.written_at(0);
        let seen = Seen { at: Instant::now(), tick, period: minute };
        let at = |seconds| seen.at.checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(seen.is_closed(minute, at(1)) && !seen.is_closed(minute, at(60)));
    }

    #[test]
    fn the_answer_to_a_question_from_before_everything_was_forgotten_is_not_remembered() {
        let (memory, hour) = (Memory::default(), period(Duration::from_secs(3_600)));
        let asked = Instant::now();
        memory.forget();
        memory.note(&path("/a"), start(0, hour), hour, asked);
        assert!(!memory.is_closed(&path("/a"), hour));
        let later = memory.ticks().forgotten.unwrap().checked_add(Duration::from_nanos(1)).unwrap();
        memory.note(&path("/a"), start(0, hour), hour, later);
        assert!(memory.is_closed(&path("/a"), hour));
    }

    #[test]
    fn a_tick_that_is_far_ahead_is_told_once() {
        let (memory, minute) = (Memory::default(), period(Duration::from_secs(60)));
        let tick = Record::question(start(1_000_000, minute), minute).written_at(0);
        let note = |tick| memory.note(&path("/a"), tick, minute, Instant::now());
        assert_eq!(note(tick), Some(Duration::from_secs(1_000)));
        assert_eq!(note(tick), None);
        assert_eq!(note(start(2_000_000, minute)), None);
        assert_eq!(note(tick), Some(Duration::from_secs(1_000)));
    }

    #[test]
    fn the_number_of_ticks_that_are_remembered_is_bounded() {
        let (memory, hour) = (Memory::default(), period(Duration::from_secs(3_600)));
        for number in 0..MOST + 10 {
            memory.note(&path(&format!("/{number}")), start(0, hour), hour, Instant::now());
        }
        let remembered = memory.ticks().by_path.len();
        assert!((MOST / 2..=MOST / 2 + 10).contains(&remembered), "{remembered}");
        assert!(memory.is_closed(&path(&format!("/{}", MOST + 9)), hour));
    }

    #[test]
    fn what_is_of_no_use_is_forgotten() {
        let (memory, minute) = (Memory::default(), period(Duration::from_secs(60)));
        let over = Record::question(start(0, minute), minute).written_at(60_000);
        for number in 0..1_000 {
            memory.note(&path(&format!("/{number}")), over, minute, Instant::now());
        }
        assert!(memory.ticks().by_path.len() <= LEAST_LIMIT);
    }
}
