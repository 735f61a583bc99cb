//! Remembers at which paths it is useless to ask the servers whether the period is over.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use boot_time::Instant;
use tokio_util::sync::CancellationToken;

use crate::change::Mutex;
use crate::path::NodePath;

use super::{LastStart, Period};

/// The last starts whose period this client knows not to be over, and the answers for which its calls wait.
///
/// The cache only saves requests; it never permits a start. The client's clock may run faster than that of the servers by
/// one percent.
#[derive(Debug, Default)]
pub(crate) struct PeriodCache {
    known: Mutex<Known>,
    /// Those that pollers have not given yet.
    answers: Mutex<HashMap<Polled, Answer>>,
    /// Of the calls whose wait is over, which look one after the other.
    pub(crate) last_look: tokio::sync::Mutex<()>,
}

/// The answer of a poller to the calls that wait for it, which is cancelled once the period has begun.
pub(crate) type Answer = Weak<CancellationToken>;

/// What a poller asks about: whether this period at this path has begun.
pub(crate) type Polled = (NodePath, Period);

#[derive(Debug, Default)]
struct Known {
    /// If the path contains an argument of the function, there is one node for each value, so that their number is bounded.
    /// To ask for one again costs two requests.
    seen: HashMap<String, Seen>,
    /// The time when everything was forgotten on demand.
    forgotten: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// An instant no later than that of the write.
    at: Instant,
    last: LastStart,
    period: Period,
}

impl Seen {
    /// Returns whether this was asked for and written before the other one. The servers' time alone may go back.
    fn is_older(&self, other: &Self) -> bool {
        self.at < other.at && self.last.written < other.last.written
    }

    fn is_closed(&self, period: Period, now: Instant) -> bool {
        // If the servers' time went back, the period seems closed for longer than it is. The time may be corrected again,
        // so it counts as closed for its length at most.
        let closed_for = self.last.closed_for(period).min(period.as_duration());
        now.saturating_duration_since(self.at) < closed_for / 100 * 99
    }
}

impl PeriodCache {
    /// Returns `true` if no start is possible yet at `path`, and `false` if that is not known.
    pub(crate) fn is_closed(&self, path: &NodePath, period: Period) -> bool {
        let seen = self.known.lock().seen.get(path.full()).copied();
        seen.is_some_and(|seen| seen.is_closed(period, Instant::now()))
    }

    /// Remembers a start that was written no earlier than `at`, unless a later answer is known. Returns how far it is ahead
    /// of the servers' clock, if that is far and was not known.
    pub(crate) fn note(
        &self,
        path: &NodePath,
        last: LastStart,
        period: Period,
        at: Instant,
    ) -> Option<Duration> {
        let (mut known, seen) = (self.known.lock(), Seen { at, last, period });
        let before = known.seen.get(path.full()).copied();
        // The question was under way when everything was forgotten, and its answer may be outdated.
        if known.forgotten.is_some_and(|forgotten| at <= forgotten)
            || before.is_some_and(|before| seen.is_older(&before))
        {
            return None;
        }
        if known.seen.len() >= MOST && before.is_none() {
            known.seen.clear();
        }
        known.seen.insert(path.full().to_owned(), seen);
        let was_ahead = before.is_some_and(|seen| seen.last.ahead(seen.period).is_some());
        last.ahead(period).filter(|_| !was_ahead)
    }

    /// Forgets every start, so that the servers are asked again.
    pub(crate) fn forget(&self) {
        let seen = HashMap::new();
        *self.known.lock() = Known { seen, forgotten: Some(Instant::now()) };
    }

    /// Returns the answer of the poller that polls for it; calls `poll` if there is none. There is no answer if the poller
    /// fails.
    pub(crate) fn join(&self, polled: &Polled, poll: impl FnOnce(Answer)) -> Arc<CancellationToken> {
        let mut answers = self.answers.lock();
        let present = answers.get(polled).and_then(Weak::upgrade).filter(|answer| !answer.is_cancelled());
        present.unwrap_or_else(|| {
            let answer = Arc::new(CancellationToken::new());
            answers.insert(polled.clone(), Arc::downgrade(&answer));
            poll(Arc::downgrade(&answer));
            answer
        })
    }

    /// Forgets the answer of a poller that ends.
    pub(crate) fn leave(&self, polled: &Polled, answer: &Answer) {
        let mut answers = self.answers.lock();
        // If no call waited for it any more, another poller may have taken its place.
        if answers.get(polled).is_some_and(|present| present.ptr_eq(answer)) {
            answers.remove(polled);
        }
    }
}

/// The most starts that are remembered.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use uuid::Uuid;

    use super::super::Record;
    use super::*;

    fn start(written: i64, period: Period) -> LastStart {
        Record::new(None, period, Uuid::from_u128(1)).written_at(written)
    }

    fn path(name: &str) -> NodePath {
        NodePath::new("", name).unwrap()
    }

    fn period(length: Duration) -> Period {
        Period::new(length).unwrap()
    }

    #[test]
    fn written_start_is_known_until_its_period_is_over() {
        let (cache, hour) = (PeriodCache::default(), period(Duration::from_secs(3_600)));
        assert!(!cache.is_closed(&path("/a"), hour));
        cache.note(&path("/a"), start(0, hour), hour, Instant::now());
        assert!(cache.is_closed(&path("/a"), hour) && !cache.is_closed(&path("/b"), hour));
        let seen = cache.known.lock().seen[path("/a").full()];
        // An hour, less the twentieth by which a start may be early, and less one percent.
        let at = |seconds| seen.at.checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(seen.is_closed(hour, at(3_385)) && !seen.is_closed(hour, at(3_387)));
    }

    #[test]
    fn a_time_of_the_servers_that_went_back_closes_a_tick_for_a_period_at_most() {
        let minute = period(Duration::from_secs(60));
        let ahead = Record::new(Some(start(1 << 40, minute)), minute, Uuid::from_u128(2));
        let tick = ahead.written_at(0);
        let seen = Seen { at: Instant::now(), last: tick, period: minute };
        let at = |seconds| seen.at.checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(seen.is_closed(minute, at(1)) && !seen.is_closed(minute, at(60)));
    }

    #[test]
    fn the_answer_to_a_question_from_before_everything_was_forgotten_is_not_remembered() {
        let (cache, hour) = (PeriodCache::default(), period(Duration::from_secs(3_600)));
        let asked = Instant::now();
        cache.forget();
        cache.note(&path("/a"), start(0, hour), hour, asked);
        assert!(!cache.is_closed(&path("/a"), hour));
        let later = cache.known.lock().forgotten.unwrap().checked_add(Duration::from_nanos(1)).unwrap();
        cache.note(&path("/a"), start(0, hour), hour, later);
        assert!(cache.is_closed(&path("/a"), hour));
    }

    #[test]
    fn a_tick_that_is_far_ahead_is_told_once() {
        let (cache, minute) = (PeriodCache::default(), period(Duration::from_secs(60)));
        let tick = Record::question(start(1_000_000, minute), minute).written_at(0);
        let note = |tick| cache.note(&path("/a"), tick, minute, Instant::now());
        assert_eq!(note(tick), Some(Duration::from_secs(1_000)));
        assert_eq!(note(tick), None);
        assert_eq!(note(start(2_000_000, minute)), None);
        assert_eq!(note(tick), Some(Duration::from_secs(1_000)));
    }

    #[test]
    fn the_number_of_ticks_that_are_remembered_is_bounded() {
        let (cache, hour) = (PeriodCache::default(), period(Duration::from_secs(3_600)));
        for number in 0..MOST + 10 {
            cache.note(&path(&format!("/{number}")), start(0, hour), hour, Instant::now());
        }
        let is_closed = |number| cache.is_closed(&path(&format!("/{number}")), hour);
        assert!(!is_closed(0) && (MOST..MOST + 10).all(is_closed));
        assert_eq!(cache.known.lock().seen.len(), 10);
    }

    #[test]
    fn an_earlier_answer_does_not_take_the_place_of_a_later_one() {
        let (cache, minute) = (PeriodCache::default(), period(Duration::from_secs(60)));
        let over = Record::question(start(0, minute), minute).written_at(59_000);
        let next = Record::new(Some(over), minute, Uuid::from_u128(2)).written_at(60_000);
        let asked = Instant::now();
        let later = asked.checked_add(Duration::from_millis(1)).unwrap();
        let closed = |notes: [_; 2]| {
            cache.forget();
            cache.known.lock().forgotten = None;
            for (last, at) in notes {
                cache.note(&path("/a"), last, minute, at);
            }
            cache.is_closed(&path("/a"), minute)
        };
        assert!(closed([(over, asked), (next, later)]) && closed([(next, later), (over, asked)]));
        // The later one counts although the servers' time went back, or its question was the earlier one.
        assert!(!closed([(next, asked), (over, later)]) && closed([(over, later), (next, asked)]));
    }

    #[test]
    fn calls_share_a_poller_while_one_of_them_waits_and_it_has_not_ended() {
        let (cache, polled) = (PeriodCache::default(), (path("/a"), period(Duration::from_secs(60))));
        let (given, pollers) = (Cell::new(Answer::new()), Cell::new(0));
        let join = || {
            cache.join(&polled, |answer| {
                given.set(answer);
                pollers.set(pollers.get() + 1);
            })
        };
        let (one, other) = (join(), join());
        assert_eq!(pollers.get(), 1);
        let first = given.take();
        first.upgrade().unwrap().cancel();
        assert!(one.is_cancelled() && other.is_cancelled());
        let next = join();
        let second = given.take();
        assert!(pollers.get() == 2 && second.strong_count() == 1);
        // The first poller ends after the second one has begun.
        cache.leave(&polled, &first);
        drop(join());
        assert_eq!(pollers.get(), 2);
        drop(next);
        assert_eq!(second.strong_count(), 0);
        let _last = join();
        assert_eq!(pollers.get(), 3);
        cache.leave(&polled, &given.take());
        assert!(cache.answers.lock().is_empty());
    }
}
