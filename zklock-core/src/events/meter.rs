//! Counts the events of a client's lives, by the name and the mode of the lock.
//!
//! The counts are atomics, so that an event costs no more than that, in any thread. `client::metrics` hands them to the
//! recorder from a thread of its own, because a recorder is code of users.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::LossReason;
use crate::mode::Mode;

use super::event::LockEventKind;
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

type ByName = HashMap<Cow<'static, str>, Vec<Arc<Series>>>;

/// The counts of all locks with one name and one mode.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) label: Cow<'static, str>,
    pub(crate) mode: Mode,
    /// The attempts, or candidates, that have begun.
    pub(crate) begun: Count,
    /// The attempts that have ended without the lock, and the candidates that have withdrawn, by [`OUTCOMES`].
    pub(crate) outcomes: [Count; OUTCOMES.len()],
    /// The attempts that have acquired the lock, and the elected candidates.
    pub(crate) acquired: Count,
    /// The nodes under which calls have held the lock.
    pub(crate) turns: Count,
    /// The locks that were released, and the terms that were resigned.
    pub(crate) released: Count,
    pub(crate) passed_on: Count,
    pub(crate) release_failed: Count,
    /// The losses by [`REASONS`].
    pub(crate) losses: [Count; REASONS.len()],
    /// The waits of attempts that have acquired the lock, and of candidates for their elections.
    pub(crate) waits: Times,
    pub(crate) holds: Times,
}

/// The ends of a wait without the lock.
pub(crate) const OUTCOMES: [&str; 6] =
    ["contended", "timed_out", "cancelled", "refused", "failed", "withdrawn"];
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
    pub(super) fn series(&self, (label, mode): (&Cow<'static, str>, Mode)) -> Arc<Series> {
        self.known((label, mode)).unwrap_or_else(|| {
            let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
            let label = match name_in(&series, label) {
                OTHERS => Cow::Borrowed(OTHERS),
                _ => label.clone(),
            };
            find(&series, (&label, mode)).unwrap_or_else(|| {
                let new = Arc::new(Series::new(label.clone(), mode));
                series.entry(label).or_default().push(new.clone());
                new
            })
        })
    }

    /// Returns the counts if there are any, without the write lock: it would make the calls of all threads wait.
    fn known(&self, (label, mode): (&Cow<'static, str>, Mode)) -> Option<Arc<Series>> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        find(&series, (name_in(&series, label), mode))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Series>> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        series.values().flatten().cloned().collect()
    }
}

impl Series {
    fn new(label: Cow<'static, str>, mode: Mode) -> Self {
        let (outcomes, losses) = Default::default();
        let (begun, acquired, turns, released, passed_on, release_failed) = Default::default();
        let (waits, holds) = Default::default();
        Self {
            label,
            mode,
            begun,
            outcomes,
            acquired,
            turns,
            released,
            passed_on,
            release_failed,
            losses,
            waits,
            holds,
        }
    }

    /// Counts an event.
    pub(super) fn note(&self, kind: &LockEventKind) {
        match kind {
            LockEventKind::Begun => self.begun.add_one(),
            LockEventKind::Contended { .. } => self.outcomes[0].add_one(),
            LockEventKind::TimedOut { .. } => self.outcomes[1].add_one(),
            LockEventKind::Cancelled { .. } => self.outcomes[2].add_one(),
            LockEventKind::Refused { .. } => self.outcomes[3].add_one(),
            LockEventKind::Failed { .. } => self.outcomes[4].add_one(),
            LockEventKind::Withdrawn => self.outcomes[5].add_one(),
            LockEventKind::Acquired { waited, .. } | LockEventKind::Elected { waited, .. } => {
                self.acquired.add_one();
                self.waits.note(*waited);
            }
            LockEventKind::Released { held, .. } | LockEventKind::Resigned { held, .. } => {
                self.released.add_one();
                self.holds.note(*held);
            }
            LockEventKind::PassedOn { held, .. } => {
                self.passed_on.add_one();
                self.holds.note(*held);
            }
            LockEventKind::ReleaseFailed { held, .. } => {
                self.release_failed.add_one();
                self.holds.note(*held);
            }
            LockEventKind::Lost { held, reason, .. } => {
                self.losses[place_of(*reason)].add_one();
                self.holds.note(*held);
            }
            LockEventKind::Queued { .. }
            | LockEventKind::Suspended { .. }
            | LockEventKind::Confirmed { .. }
            | LockEventKind::Downgraded { .. }
            | LockEventKind::Rejected { .. } => {}
        }
    }

    /// Returns the number of attempts, or candidates, that wait.
    pub(crate) fn waiting(&self) -> u64 {
        let ended: u64 = self.outcomes.iter().map(Count::get).sum();
        let begun = self.begun.get();
        match self.mode {
            // An elected candidate is one that stays.
            Mode::Leader => begun.saturating_sub(ended),
            _ => begun.saturating_sub(ended + self.acquired.get()),
        }
    }

    /// Returns the number of holds, or terms, that have not ended.
    pub(crate) fn held(&self) -> u64 {
        let lost: u64 = self.losses.iter().map(Count::get).sum();
        let ended = lost + self.released.get() + self.passed_on.get() + self.release_failed.get();
        self.acquired.get().saturating_sub(ended)
    }
}

/// Returns the name under which the locks with this label are counted.
fn name_in<'a>(series: &ByName, label: &'a str) -> &'a str {
    if series.len() >= MOST && !series.contains_key(label) { OTHERS } else { label }
}

fn find(series: &ByName, (name, mode): (&str, Mode)) -> Option<Arc<Series>> {
    series.get(name)?.iter().find(|series| series.mode == mode).cloned()
}

/// Returns the place of a reason in [`REASONS`].
fn place_of(reason: LossReason) -> usize {
    match reason {
        LossReason::NodeDeleted => 0,
        LossReason::OwnerChanged => 1,
        LossReason::SessionEnded => 2,
        LossReason::LeaseExpired => 3,
        LossReason::Suspended => 4,
        LossReason::Resigned => 5,
    }
}

/// The greatest number of names with series of their own.
const MOST: usize = 1_000;
/// The name of the locks beyond that.
const OTHERS: &str = "others";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_share_a_series() {
        let meter = Meter::default();
        for nth in 0..10 * MOST {
            meter.series((&format!("lock {nth}").into(), Mode::Exclusive)).begun.add_one();
        }
        let all = meter.all();
        assert_eq!(all.len(), MOST + 1);
        let others = all.iter().find(|series| series.label == OTHERS).unwrap();
        assert_eq!(others.begun.get(), 9 * MOST as u64);
        assert_eq!(meter.series((&"lock 7".into(), Mode::Exclusive)).begun.get(), 1);
    }

    #[test]
    fn a_new_name_beyond_the_limit_needs_no_write_lock() {
        let meter = Meter::default();
        for nth in 0..=MOST {
            meter.series((&format!("lock {nth}").into(), Mode::Exclusive));
        }
        let new = (&"a new one".into(), Mode::Exclusive);
        assert!(meter.known(new).is_some_and(|series| series.label == OTHERS));
    }
}
