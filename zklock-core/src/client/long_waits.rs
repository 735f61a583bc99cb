//! Logs calls that wait long for their locks, with a bound on the number of lines.
//!
//! The tasks that watch the deadlines of calls log them as well, with a [`Pace`] each. No call has a timer for that.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

use crate::error::{Holder, Phase};
use crate::path::NodePath;

/// The log of one client's long waits.
pub(crate) struct LongWaits {
    after: Duration,
    lines: Mutex<Lines>,
}

/// A wait that is long, as far as it is known.
pub(crate) struct LongWait<'a> {
    pub(crate) path: &'a NodePath,
    pub(crate) since: Instant,
    pub(crate) phase: Phase,
    pub(crate) holder: Option<Holder>,
    /// The number of calls that wait together.
    pub(crate) calls: usize,
}

/// The times at which one wait, or the first one of a line, is logged: after pauses that double.
pub(crate) struct Pace {
    after: Duration,
    last: Option<Last>,
}

struct Last {
    /// The beginning of the wait.
    since: Instant,
    at: Instant,
    /// The pause from then on.
    pause: Duration,
}

impl LongWaits {
    pub(crate) fn new(after: Duration) -> Self {
        Self { after, lines: Mutex::default() }
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace { after: self.after, last: None }
    }

    /// Logs a wait, unless there are many lines, or one about its path.
    pub(crate) fn log(&self, wait: LongWait<'_>, now: Instant) {
        if !tracing::enabled!(Level::WARN) {
            return;
        }
        let LongWait { path, since, phase, holder, calls } = wait;
        let admitted = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.admit(path.relative(), now, self.after)
        };
        let Some(left_out) = admitted else { return };
        let (waited, holder) = (now.duration_since(since), holder.as_ref().map(tracing::field::display));
        tracing::warn!(%path, ?waited, ?phase, holder, calls, left_out, "a call has waited long for its lock");
    }
}

impl Pace {
    /// Returns the time at which a wait that began then is to be logged.
    pub(crate) fn next(&self, since: Instant) -> Option<Instant> {
        match &self.last {
            Some(last) if last.since == since => last.at.checked_add(last.pause),
            Some(last) => since.max(last.at).checked_add(self.after),
            None => since.checked_add(self.after),
        }
    }

    /// Returns the time by which to look at a wait that takes the place of the present one.
    pub(crate) fn look(&self, now: Instant) -> Option<Instant> {
        now.checked_add(self.after)
    }

    /// Returns whether a wait that began then is to be logged now, and takes note of that.
    pub(crate) fn is_due(&mut self, since: Instant, now: Instant) -> bool {
        let is_due = self.next(since).is_some_and(|next| next <= now);
        if is_due {
            let pause = match &self.last {
                Some(last) if last.since == since => {
                    last.pause.saturating_mul(2).min(LONGEST.max(self.after))
                }
                _ => self.after,
            };
            self.last = Some(Last { since, at: now, pause });
        }
        is_due
    }
}

/// The lines that were logged lately.
#[derive(Default)]
struct Lines {
    /// The times until which there are no more lines about these paths.
    told: HashMap<String, Instant>,
    /// The beginning of the present period, and the number of lines in it.
    period: Option<(Instant, u32)>,
    left_out: u64,
}

impl Lines {
    /// Returns the number of waits that were left out before this one, or `None` if it is left out too.
    fn admit(&mut self, path: &str, now: Instant, after: Duration) -> Option<u64> {
        if self.told.get(path).is_some_and(|until| *until > now) {
            return None;
        }
        let (began, lines) = match self.period {
            Some((began, lines)) if now.duration_since(began) < PERIOD => (began, lines),
            _ => (now, 0),
        };
        if lines == MOST {
            self.left_out += 1;
            return None;
        }
        self.period = Some((began, lines + 1));
        self.told.retain(|_, until| *until > now);
        self.told.extend(now.checked_add(after).map(|until| (path.to_owned(), until)));
        Some(std::mem::take(&mut self.left_out))
    }
}

/// The longest pause between two lines about one wait, unless `warn_after` is longer.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The greatest number of lines of one client in [`PERIOD`].
const MOST: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_wait_is_logged_after_pauses_that_double_up_to_an_hour() {
        let (mut pace, since) = (LongWaits::new(30 * SECOND).pace(), Instant::now());
        let mut logged = Vec::new();
        for second in 0..20_000 {
            if pace.is_due(since, since + second * SECOND) {
                logged.push(second);
            }
        }
        assert_eq!(logged, [30, 60, 120, 240, 480, 960, 1920, 3840, 7440, 11040, 14640, 18240]);
    }

    #[test]
    fn a_later_wait_has_a_pace_of_its_own() {
        let (mut pace, since) = (LongWaits::new(30 * SECOND).pace(), Instant::now());
        assert!(pace.is_due(since, since + 30 * SECOND) && pace.is_due(since, since + 60 * SECOND));
        let later = since + 70 * SECOND;
        assert_eq!(pace.next(later), Some(later + 30 * SECOND));
        assert!(pace.is_due(later, later + 30 * SECOND));
        assert_eq!(pace.next(later), Some(later + 60 * SECOND));
    }

    #[test]
    fn a_wait_that_began_while_an_earlier_one_was_long_does_not_inherit_its_pauses() {
        let (mut pace, since) = (LongWaits::new(30 * SECOND).pace(), Instant::now());
        let due: Vec<_> = (0..=1_920).filter(|second| pace.is_due(since, since + *second * SECOND)).collect();
        assert_eq!(due.last(), Some(&1_920));
        let next = since + 1_900 * SECOND;
        assert_eq!(pace.next(next), Some(since + 1_950 * SECOND));
        assert!(pace.is_due(next, since + 1_950 * SECOND));
        assert_eq!(pace.next(next), Some(since + 1_980 * SECOND));
    }

    #[test]
    fn without_a_limit_no_wait_is_long() {
        let pace = LongWaits::new(Duration::MAX).pace();
        assert_eq!(pace.next(Instant::now()), None);
    }

    #[test]
    fn many_waits_at_one_path_are_logged_once_in_a_while() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let admitted = (0..100).filter_map(|nth| lines.admit("/a", now + nth * SECOND, 30 * SECOND));
        assert_eq!(admitted.collect::<Vec<_>>(), [0; 4]);
    }

    #[test]
    fn many_paths_share_a_few_lines_which_tell_how_many_were_left_out() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let mut admit = |nth: u32, now| lines.admit(&format!("/{nth}"), now, 30 * SECOND);
        assert_eq!((0..1_000).filter_map(|nth| admit(nth, now)).count(), MOST as usize);
        assert_eq!(admit(1_000, now + PERIOD), Some(990));
        assert_eq!(admit(1_001, now + PERIOD), Some(0));
        assert_eq!(lines.told.len(), MOST as usize + 2);
        lines.admit("/last", now + 60 * SECOND, 30 * SECOND);
        assert_eq!(lines.told.len(), 1);
    }
}
