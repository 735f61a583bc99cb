//! The calls of a history, their holds, and the times for which the holders could rely on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CallId, Campaign, Event, Kind, Record, Source, Span, Token, Why};

/// One call for a lock, and all that its process wrote of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    /// The time before the call began.
    pub(crate) asked: u64,
    pub(crate) lock: Arc<str>,
    /// The kind of place that the call wants.
    pub(crate) kind: Kind,
    /// The time that the call may take.
    pub(crate) within: u64,
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

/// The grant of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The time after the call had returned.
    pub(crate) at: u64,
    pub(crate) token: Token,
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
        Some(Self {
            id,
            asked: record.at,
            lock: Arc::from(lock.as_str()),
            kind: *kind,
            within: *within,
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
                self.until = self.until.max(Some(*until));
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

/// One hold of a lock, which is *valid* from its grant until its end.
///
/// The end is the earliest of the reasons of [`Ending`]. A lost lease never becomes valid again. A client that reports
/// a later end of the lease has therefore been valid all the time, also if it was stopped in between, and the latest
/// end that it reported counts.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) call: CallId,
    pub(crate) lock: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) asked: u64,
    pub(crate) granted: u64,
    pub(crate) token: Token,
    /// The time from which on the hold is not valid any more.
    pub(crate) end: u64,
    pub(crate) ending: Ending,
}

/// The reason for which a hold is not valid any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// The holder began to give the lock back.
    Released,
    /// The holder was told of the loss.
    ToldLost,
    /// The lease ran out, as the holder knew it.
    LeaseOver,
    /// The process of the holder was killed, or had ended.
    Died,
    /// The campaign broke the lock, or ended the session, by force.
    Forced,
    /// The history ends.
    Open,
}

impl Hold {
    /// Tells whether the hold was valid at all, as far as the history shows.
    pub(crate) fn was_valid(&self) -> bool {
        self.granted < self.end
    }

    /// Tells whether the hold is valid from the first to the second time.
    pub(crate) fn covers(&self, from: u64, to: u64) -> bool {
        self.granted <= from && from <= to && to < self.end
    }

    /// Tells whether two holds of one lock may not be valid at the same time: permits may if there are enough for both.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        self.call != other.call && excludes(self.kind, other.kind)
    }

    /// Derives the hold of a call, if it has one, from a history that ends at the time `last`.
    pub(super) fn of(call: &Call, campaign: &Campaign, last: u64) -> Option<Self> {
        let grant = call.grants.first()?;
        let (end, ending) = end(call, grant, campaign, last);
        Some(Self {
            call: call.id,
            lock: call.lock.clone(),
            kind: call.kind,
            asked: call.asked,
            granted: grant.at,
            token: grant.token,
            end: end.max(grant.at),
            ending,
        })
    }
}

/// Tells whether places of these kinds exclude each other.
pub(crate) fn excludes(one: Kind, other: Kind) -> bool {
    match (one, other) {
        (Kind::Read, Kind::Read) => false,
        (Kind::Permits { n, of }, Kind::Permits { n: m, of: other }) => n + m > of.max(other),
        _ => true,
    }
}

/// Returns the earliest end of the hold of a call.
fn end(call: &Call, grant: &Grant, campaign: &Campaign, last: u64) -> (u64, Ending) {
    let granted = grant.at;
    let mut ends = vec![(last, Ending::Open)];
    let first_end = call.ends.iter().map(|end| end.at).min();
    ends.extend(call.release_begun.or(first_end).map(|at| (at, Ending::Released)));
    ends.extend(call.told_lost.first().map(|at| (*at, Ending::ToldLost)));
    ends.extend(call.until.map(|at| (at, Ending::LeaseOver)));
    let broken = campaign.broken.get(&*call.lock).into_iter().flatten();
    let broken = broken.filter(|(_, zxid)| may_be_under(call.kind, grant.token, *zxid));
    let mut forced: Vec<Span> = broken.map(|(force, _)| *force).collect();
    if let Some(life) = campaign.lives.get(&call.id.process) {
        ends.extend([life.killed, life.exited].into_iter().flatten().map(|at| (at, Ending::Died)));
        forced.extend(&life.sessions_ended);
    }
    // A lock can still go from call to call under the node that is about to be deleted.
    let may_strike = |force: &Span| force.to.unwrap_or(force.from).saturating_add(FORCE) >= granted;
    let forced = forced.into_iter().filter(may_strike);
    ends.extend(forced.map(|force| (force.from, Ending::Forced)));
    ends.into_iter().min_by_key(|(at, _)| *at).expect("the history ends")
}

/// Tells whether a hold may be under the node with this zxid.
///
/// Readers may follow a writer under a node that has replaced another one, and permits have several nodes, so that their
/// tokens do not tell.
fn may_be_under(kind: Kind, token: Token, zxid: u64) -> bool {
    !matches!(kind, Kind::Mutex | Kind::Leader) || token.0 == zxid
}

/// The time after the answer to a force until which it may take effect, in nanoseconds.
const FORCE: u64 = 1_000_000_000;
