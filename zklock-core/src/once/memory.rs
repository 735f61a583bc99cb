//! When it is in vain to ask whether a period is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use boot_time::Instant;

use crate::path::NodePath;

use super::tick::{Period, Tick};

/// What this client knows of ticks whose period is not over, by their paths.
///
/// It only ever spares a question, by a clock that may be faster than that of the servers by one percent.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<HashMap<String, Seen>>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// No later than it was written.
    at: Instant,
    tick: Tick,
    period: Period,
}

impl Seen {
    fn is_closed(&self, period: Period, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < self.tick.closed_for(period) / 100 * 99
    }
}

impl Memory {
    /// Tells whether no start is possible yet at the tick at `path`; `false` where that is not known.
    pub(crate) fn is_closed(&self, path: &NodePath, period: Period) -> bool {
        let seen = self.seen().get(path.full()).copied();
        seen.is_some_and(|seen| seen.is_closed(period, Instant::now()))
    }

    /// Remembers what was written no earlier than `at`.
    pub(super) fn note(&self, path: &NodePath, tick: Tick, period: Period, at: Instant) {
        let now = Instant::now();
        let mut seen = self.seen();
        // What is over is of no use, and there may be a tick for each value of an argument.
        seen.retain(|_, seen| seen.is_closed(seen.period, now));
        seen.insert(path.full().to_owned(), Seen { at, tick, period });
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
