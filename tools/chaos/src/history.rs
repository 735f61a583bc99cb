//! The history of a campaign: the calls that many processes made at locks, the answers that they had, and the effects
//! that they caused.
//!
//! Each process writes its own [`Record`]s, one line of JSON each, with times of the clock that all processes of the
//! machine share and that no suspension stops (`CLOCK_BOOTTIME`). The module has no clock and no files of its own: the
//! writer gives each time, and lines are read from a [`BufRead`](std::io::BufRead).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

mod campaign;
pub(crate) mod check;
mod event;
mod hold;
mod record;
#[cfg(test)]
mod story;

pub(crate) use self::campaign::{Campaign, Life, Span};
pub(crate) use self::check::Bounds;
pub(crate) use self::event::{Event, Kind, Outcome, Token, Way, Why};
use self::hold::collect;
pub(crate) use self::hold::{Call, Ending, Hold, excludes};
pub(crate) use self::record::{CallId, Process, Record, Source, read};
#[cfg(test)]
pub(crate) use self::story::{Story, rules, source};

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

/// A broken promise.
///
/// Its text names the promise and the figures, and then has one line for each record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    /// The figures, in a sentence.
    pub(crate) text: String,
    pub(crate) records: Vec<Record>,
}

/// A promise of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// Valid holds exclude each other.
    Exclusion,
    /// The number of valid permits is at most that of the semaphore.
    Permits,
    /// Tokens rise in the order of the holds of one lock.
    Tokens,
    /// No guarded write is applied after the next grant.
    LateWrite,
    /// A resource does not refuse a valid holder.
    Refused,
    /// A write that was refused is never applied.
    Phantom,
    /// No write of a valid holder is lost.
    LostUpdate,
    /// A call ends within its bound.
    Bound,
    /// No call waits too long.
    Starved,
    /// A lock that nobody holds can be taken.
    Vacant,
    /// A holder is told of a loss before the lock is handed on.
    Told,
    /// Work starts at most once per period.
    Period,
    /// Work that is tried again and again starts.
    Idle,
    /// Nothing is left at the end.
    Left,
}

impl Violation {
    pub(crate) fn new(rule: Rule, text: String, records: impl IntoIterator<Item = Record>) -> Self {
        Self { rule, text, records: records.into_iter().collect() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.text)?;
        for record in &self.records {
            write!(f, "\n  {} {} {:?}", record.at, record.by, record.event)?;
        }
        Ok(())
    }
}

/// Returns the records of a call that show its life at the lock, without those of resources.
pub(crate) fn life<'a>(records: &'a [Record]) -> impl Iterator<Item = Record> + use<'a> {
    let is_life = |record: &&Record| {
        use Event::{NotStarted, Read, Started, Wrote};
        !matches!(record.event, Read { .. } | Wrote { .. } | Started { .. } | NotStarted { .. })
    };
    records.iter().filter(is_life).cloned()
}

/// Returns a duration in nanoseconds as milliseconds.
pub(crate) fn millis(nanos: u64) -> String {
    format!("{}.{:03} ms", nanos / 1_000_000, nanos / 1_000 % 1_000)
}

/// Returns two calls as a text.
pub(crate) fn both(one: CallId, other: CallId) -> String {
    format!("{one} and {other}")
}
