//! A broken promise, with the records that show it.

use std::fmt;

use crate::history::{CallId, Event, Record};

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
