//! The history of a campaign: the calls that many processes made at locks, the answers that they had, and the effects
//! that they caused.
//!
//! Each process writes its own [`Record`]s, one line of JSON each, with times of the clock that all processes of the
//! machine share and that no suspension stops (`CLOCK_BOOTTIME`). The module has no clock and no files of its own: the
//! writer gives each time, and lines are read from a [`BufRead`](std::io::BufRead).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

mod campaign;
pub(crate) mod check;
mod event;
mod hold;
mod record;
#[cfg(test)]
mod story;
mod violation;

pub(crate) use self::campaign::{Campaign, Life, Span};
pub(crate) use self::check::Bounds;
pub(crate) use self::event::{Event, Kind, Outcome, Token, Way, Why};
use self::hold::collect;
pub(crate) use self::hold::{Call, Ending, Hold, excludes};
pub(crate) use self::record::{CallId, Process, Record, Source, read};
#[cfg(test)]
pub(crate) use self::story::{Story, rules, source};
pub(crate) use self::violation::{Rule, Violation, both, life, millis};

/// The merged records of all processes of a campaign.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// All records, by their time.
    pub(crate) records: Vec<Record>,
    /// All calls, by process, task and number.
    pub(crate) calls: BTreeMap<CallId, Call>,
    pub(crate) campaign: Campaign,
    /// All holds, by the time of their grants.
    pub(crate) holds: Vec<Hold>,
}

impl History {
    /// Merges records. Those of one call must come in the order in which they were written.
    pub(crate) fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let mut records: Vec<_> = records.into_iter().collect();
        records.sort_by_key(|record| record.at);
        let campaign = Campaign::collect(&records);
        let calls = collect(&records);
        let last = records.last().map_or(0, |record| record.at);
        let mut holds: Vec<_> = calls.values().filter_map(|call| Hold::of(call, &campaign, last)).collect();
        holds.sort_by_key(|hold| (hold.granted, hold.call));
        Self { records, calls, campaign, holds }
    }

    /// Returns a violation that the lives of these calls show.
    pub(crate) fn violation(
        &self,
        rule: Rule,
        text: String,
        calls: impl IntoIterator<Item = CallId>,
    ) -> Violation {
        let calls = calls.into_iter().filter_map(|id| self.calls.get(&id));
        Violation::new(rule, text, calls.flat_map(|call| life(&call.records)))
    }

    /// Returns the holds of each lock, by the time of their grants.
    pub(crate) fn holds_by_lock(&self) -> BTreeMap<Arc<str>, Vec<&Hold>> {
        let mut locks = BTreeMap::<_, Vec<_>>::new();
        for hold in &self.holds {
            locks.entry(hold.lock.clone()).or_default().push(hold);
        }
        locks
    }

    /// Returns the life of a process, which is empty if the campaign wrote nothing of it.
    pub(crate) fn life(&self, process: Process) -> &Life {
        static UNWRITTEN: LazyLock<Life> = LazyLock::new(Life::default);
        self.campaign.lives.get(&process).unwrap_or(&UNWRITTEN)
    }

    /// Returns the time of the last record, or 0 if there is none.
    pub(crate) fn end(&self) -> u64 {
        self.records.last().map_or(0, |record| record.at)
    }
}
