//! Counts the events of a client's lives, by the name and the mode of the lock.
//!
//! The counts are atomics, so that an event costs no more than that, in any thread. `client::metrics` hands them to the
//! recorder from a thread of its own, because a recorder is code of users.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::error::LossReason;
use crate::mode::Mode;

use super::event::LockEventKind;
use super::outcome::Outcome;
use super::times::Times;

/// The counts of one client.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    series: RwLock<ByName>,
    /// The bodies that were started under `once_per`.
    pub(crate) starts: Count,
    /// The bodies that were not, because their period had begun.
    pub(crate) skips: Count,
}

type ByName = HashMap<Arc<str>, Vec<Arc<Series>>>;

/// The counts of all locks with one name and one mode.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) label: Arc<str>,
    pub(crate) mode: Mode,
    /// The number of changes to the counts below. It is raised behind them.
    changes: AtomicU64,
    /// The attempts, or candidates, that have begun.
    begun: Count,
    /// The ends of waits, at the places of [`Outcome::ALL`]. A candidate that is elected has acquired its lock.
    outcomes: [Count; Outcome::ALL.len()],
    /// The candidates that have left their elections.
    withdrawn: Count,
    /// The locks that were released, and the terms that were resigned.
    pub(crate) released: Count,
    pub(crate) passed_on: Count,
    pub(crate) release_failed: Count,
    /// The losses, at the places of [`REASONS`].
    losses: [Count; REASONS.len()],
    /// `None` for elections.
    pub(crate) calls: Option<Calls>,
}

/// The counts of calls. Those of candidates would be reported nowhere.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The nodes under which calls have held the lock.
    pub(crate) turns: Count,
    /// The waits of attempts that have acquired the lock.
    pub(crate) waits: Times,
    pub(crate) holds: Times,
}

/// The reasons of a loss.
pub(crate) const REASONS: [LossReason; 6] = [
    LossReason::NodeDeleted,
    LossReason::OwnerChanged,
    LossReason::SessionEnded,
    LossReason::LeaseExpired,
    LossReason::Suspended,
    LossReason::Resigned,
];

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Meter {
    /// Returns the counts of locks with this name. Once there are [`MOST`] names, further ones share one series.
    pub(super) fn series(&self, (label, mode): (&str, Mode)) -> Arc<Series> {
        self.known((label, mode)).unwrap_or_else(|| {
            let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
            let name = name_in(&series, label);
            find(&series, (name, mode)).unwrap_or_else(|| {
                let new = Arc::new(Series::new(name.into(), mode));
                series.entry(new.label.clone()).or_default().push(new.clone());
                new
            })
        })
    }

    /// Returns the counts if there are any, without the write lock: it would make the calls of all threads wait.
    fn known(&self, (label, mode): (&str, Mode)) -> Option<Arc<Series>> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        find(&series, (name_in(&series, label), mode))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Series>> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        series.values().flatten().cloned().collect()
    }
}

impl Series {
    fn new(label: Arc<str>, mode: Mode) -> Self {
        let calls = (mode != Mode::Leader).then(Calls::default);
        let (changes, begun, outcomes, withdrawn, losses) = Default::default();
        let (released, passed_on, release_failed) = Default::default();
        Self {
            label,
            mode,
            changes,
            begun,
            outcomes,
            withdrawn,
            released,
            passed_on,
            release_failed,
            losses,
            calls,
        }
    }

    /// Counts an event.
    pub(super) fn note(&self, kind: &LockEventKind) {
        match kind {
            LockEventKind::Begun => self.begun.add_one(),
            LockEventKind::Contended { .. } => self.count_end(Outcome::Contended),
            LockEventKind::TimedOut { .. } => self.count_end(Outcome::TimedOut),
            LockEventKind::Cancelled { .. } => self.count_end(Outcome::Cancelled),
            LockEventKind::Refused { .. } => self.count_end(Outcome::Refused),
            LockEventKind::Failed { .. } => self.count_end(Outcome::Failed),
            LockEventKind::Withdrawn => self.withdrawn.add_one(),
            LockEventKind::Acquired { waited, .. } | LockEventKind::Elected { waited, .. } => {
                self.count_end(Outcome::Acquired);
                if let Some(calls) = &self.calls {
                    calls.waits.note(*waited);
                }
            }
            LockEventKind::Released { held, .. } | LockEventKind::Resigned { held, .. } => {
                self.count_hold(&self.released, *held);
            }
            LockEventKind::PassedOn { held, .. } => self.count_hold(&self.passed_on, *held),
            LockEventKind::ReleaseFailed { held, .. } => self.count_hold(&self.release_failed, *held),
            LockEventKind::Lost { held, reason, .. } => {
                if let Some(place) = REASONS.iter().position(|known| known == reason) {
                    self.count_hold(&self.losses[place], *held);
                }
            }
            LockEventKind::Queued { .. }
            | LockEventKind::Suspended { .. }
            | LockEventKind::Confirmed { .. }
            | LockEventKind::Downgraded { .. }
            | LockEventKind::Rejected { .. }
            | LockEventKind::TickAhead { .. } => return,
        }
        self.note_change();
    }

    /// Counts a node under which nobody has held the lock before.
    pub(super) fn note_turn(&self) {
        if let Some(calls) = &self.calls {
            calls.turns.add_one();
            self.note_change();
        }
    }

    fn count_end(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].add_one();
    }

    fn count_hold(&self, end: &Count, held: Duration) {
        end.add_one();
        if let Some(calls) = &self.calls {
            calls.holds.note(held);
        }
    }

    fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of changes. Counts that are read afterwards have all of them.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the ends of waits of calls.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL.into_iter().zip(self.outcomes.iter().map(Count::get))
    }

    pub(crate) fn losses(&self) -> impl Iterator<Item = (LossReason, u64)> {
        REASONS.into_iter().zip(self.losses.iter().map(Count::get))
    }

    /// Returns the number of attempts that have acquired the lock, or of elected candidates.
    pub(crate) fn acquired(&self) -> u64 {
        self.outcomes[Outcome::Acquired as usize].get()
    }

    /// Returns the number of attempts, or candidates, that wait.
    pub(crate) fn waiting(&self) -> u64 {
        let ended = match self.mode {
            // An elected candidate is one that stays.
            Mode::Leader => self.withdrawn.get(),
            _ => self.outcomes().map(|(_, count)| count).sum(),
        };
        self.begun.get().saturating_sub(ended)
    }

    /// Returns the number of holds, or terms, that have not ended.
    pub(crate) fn held(&self) -> u64 {
        let lost: u64 = self.losses().map(|(_, count)| count).sum();
        let ended = lost + self.released.get() + self.passed_on.get() + self.release_failed.get();
        self.acquired().saturating_sub(ended)
    }
}

/// Returns the name under which the locks with this label are counted.
fn name_in<'a>(series: &ByName, label: &'a str) -> &'a str {
    if series.len() >= MOST && !series.contains_key(label) { OTHERS } else { label }
}

fn find(series: &ByName, (name, mode): (&str, Mode)) -> Option<Arc<Series>> {
    series.get(name)?.iter().find(|series| series.mode == mode).cloned()
}

/// The greatest number of names with series of their own.
const MOST: usize = 1_000;
/// The name of the locks beyond that.
const OTHERS: &str = "others";

#[cfg(test)]
mod tests {
    use crate::error::LockError;
    use crate::token::FencingToken;

    use super::*;

    #[test]
    fn names_beyond_the_limit_share_a_series() {
        let meter = Meter::default();
        for nth in 0..10 * MOST {
            meter.series((&format!("lock {nth}"), Mode::Exclusive)).begun.add_one();
        }
        let all = meter.all();
        assert_eq!(all.len(), MOST + 1);
        let others = all.iter().find(|series| &*series.label == OTHERS).unwrap();
        assert_eq!(others.begun.get(), 9 * MOST as u64);
        assert_eq!(meter.series(("lock 7", Mode::Exclusive)).begun.get(), 1);
    }

    #[test]
    fn a_new_name_beyond_the_limit_needs_no_write_lock() {
        let meter = Meter::default();
        for nth in 0..=MOST {
            meter.series((&format!("lock {nth}"), Mode::Exclusive));
        }
        assert!(meter.known(("a new one", Mode::Exclusive)).is_some_and(|series| &*series.label == OTHERS));
    }

    /// Returns the event at the end of a wait by each outcome.
    fn end(outcome: Outcome) -> LockEventKind {
        let (fencing_token, waited) = (FencingToken::new(7), Duration::from_secs(1));
        let error = LockError::contended("/a".to_owned());
        match outcome {
            Outcome::Acquired => LockEventKind::Acquired { fencing_token, waited },
            Outcome::Contended => LockEventKind::Contended { waited },
            Outcome::TimedOut => LockEventKind::TimedOut { waited, error },
            Outcome::Cancelled => LockEventKind::Cancelled { waited },
            Outcome::Refused => LockEventKind::Refused { waited, error },
            Outcome::Failed => LockEventKind::Failed { waited, error },
        }
    }

    fn lost(reason: LossReason) -> LockEventKind {
        LockEventKind::Lost { fencing_token: FencingToken::new(7), held: Duration::from_secs(1), reason }
    }

    #[test]
    fn each_end_is_counted_under_its_own_name() {
        for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
            let series = Series::new("a".into(), Mode::Exclusive);
            series.note(&LockEventKind::Begun);
            series.note(&end(outcome));
            let counts: Vec<_> = series.outcomes().filter(|(_, count)| *count > 0).collect();
            assert_eq!((outcome as usize, counts), (place, vec![(outcome, 1)]));
            assert_eq!(series.waiting(), 0);
        }
        for reason in REASONS {
            let series = Series::new("a".into(), Mode::Exclusive);
            series.note(&end(Outcome::Acquired));
            series.note(&lost(reason));
            let counts: Vec<_> = series.losses().filter(|(_, count)| *count > 0).collect();
            assert_eq!((counts, series.held()), (vec![(reason, 1)], 0));
        }
    }

    #[test]
    fn each_event_that_is_counted_is_a_change() {
        let series = Series::new("a".into(), Mode::Exclusive);
        series.note(&LockEventKind::Begun);
        series.note(&LockEventKind::Queued { ahead: 1 });
        assert_eq!(series.changes(), 1);
        series.note(&end(Outcome::Acquired));
        series.note_turn();
        series.note(&lost(LossReason::NodeDeleted));
        assert_eq!(series.changes(), 4);
    }

    #[test]
    fn a_candidate_has_no_times() {
        let series = Series::new("a".into(), Mode::Leader);
        series.note(&LockEventKind::Begun);
        series.note(&LockEventKind::Elected { fencing_token: FencingToken::new(7), waited: Duration::ZERO });
        series.note_turn();
        assert_eq!((series.waiting(), series.held(), series.calls.is_none()), (1, 1, true));
        series.note(&LockEventKind::Resigned { fencing_token: FencingToken::new(7), held: Duration::ZERO });
        series.note(&LockEventKind::Withdrawn);
        assert_eq!((series.waiting(), series.held()), (0, 0));
    }
}
