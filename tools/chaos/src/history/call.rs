//! The calls of a history, from the records of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, Kind, Token, Why};
use super::record::Record;
use super::source::{CallId, Source};

/// One call for a lock, and all that its process wrote of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) asked: Asked,
    /// The grants, of which there is one at most in a sound history.
    pub(crate) grants: Vec<Grant>,
    /// The latest end of the lease that the client knew.
    pub(crate) until: Option<u64>,
    /// The times at which the holder was told that the lock is lost.
    pub(crate) told_lost: Vec<u64>,
    /// The time at which the release began.
    pub(crate) release_begun: Option<u64>,
    /// The ends of the call, of which there is one in a sound history.
    pub(crate) ends: Vec<End>,
    /// The records of the call, in their order in time.
    pub(crate) records: Vec<Record>,
}

/// The request of a call.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) at: u64,
    pub(crate) lock: Arc<str>,
    /// The kind of place that the call wants.
    pub(crate) kind: Kind,
    pub(crate) within: Option<u64>,
}

/// The grant of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The time after the call had returned.
    pub(crate) at: u64,
    pub(crate) token: Option<Token>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) at: u64,
    /// The reason why the call ended without the lock, or `None` for a release, which may have failed.
    pub(crate) gave_up: Option<Why>,
}

impl Call {
    /// Returns the time at which the wait of the call ended, with the lock or without it.
    pub(crate) fn answered(&self) -> Option<u64> {
        let granted = self.grants.first().map(|grant| grant.at);
        granted.into_iter().chain(self.ends.first().map(|end| end.at)).min()
    }

    /// Returns the time at which the call had waited for its whole bound without the lock, or had failed.
    pub(crate) fn in_vain(&self) -> Option<u64> {
        let is_in_vain = |end: &&End| matches!(end.gave_up, Some(Why::TimedOut | Why::Error(_)));
        self.ends.iter().find(is_in_vain).map(|end| end.at)
    }

    fn begin(record: &Record, id: CallId) -> Option<Self> {
        let Event::Asked { lock, kind, within } = &record.event else { return None };
        let (at, lock) = (record.at, Arc::from(lock.as_str()));
        let asked = Asked { at, lock, kind: *kind, within: *within };
        Some(Self {
            id,
            asked,
            grants: Vec::new(),
            until: None,
            told_lost: Vec::new(),
            release_begun: None,
            ends: Vec::new(),
            records: vec![record.clone()],
        })
    }

    fn take(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::Granted { token, until } => {
                self.grants.push(Grant { at, token: *token });
                self.until = self.until.max(*until);
            }
            Event::Renewed { until } => self.until = self.until.max(Some(*until)),
            Event::ToldLost { .. } => self.told_lost.push(at),
            Event::ReleaseBegun => self.release_begun = self.release_begun.or(Some(at)),
            Event::Released | Event::ReleaseFailed { .. } => self.ends.push(End { at, gave_up: None }),
            Event::GaveUp { why } => self.ends.push(End { at, gave_up: Some(why.clone()) }),
            _ => {}
        }
        self.records.push(record.clone());
    }
}

/// Collects the calls of sorted records, and the records of calls that never asked, or asked twice.
pub(crate) fn collect(records: &[Record]) -> (BTreeMap<CallId, Call>, Vec<Record>) {
    let (mut calls, mut strays) = (BTreeMap::<CallId, Call>::new(), Vec::new());
    for record in records {
        let Source::Call(id) = record.by else { continue };
        match (calls.get_mut(&id), Call::begin(record, id)) {
            (Some(call), None) => call.take(record),
            (None, Some(call)) => drop(calls.insert(id, call)),
            _ => strays.push(record.clone()),
        }
    }
    (calls, strays)
}
