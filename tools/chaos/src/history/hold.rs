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
    pub(crate) kind: Kind,
    /// The time that the call may take.
    pub(crate) within: u64,
    /// The records of the call, in their order in time.
    pub(crate) records: Vec<Record>,
}

impl Call {
    /// Returns the grant with its time, if there is one.
    pub(crate) fn grants(&self) -> impl Iterator<Item = (u64, Token)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Granted { token, .. } => Some((record.at, token)),
            _ => None,
        })
    }

    /// Returns the ends of the lease that the client knew, each with the time since when.
    pub(crate) fn leases(&self) -> impl Iterator<Item = (u64, u64)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Granted { until, .. } | Event::Renewed { until } => Some((record.at, until)),
            _ => None,
        })
    }

    pub(crate) fn told_lost(&self) -> impl Iterator<Item = u64> {
        let told = self.records.iter().filter(|record| matches!(record.event, Event::ToldLost { .. }));
        told.map(|record| record.at)
    }

    pub(crate) fn release_begun(&self) -> Option<u64> {
        self.records.iter().find(|record| record.event == Event::ReleaseBegun).map(|record| record.at)
    }

    /// Returns the ends of the call, of which there is one in a sound history. Each has the reason why the call ended
    /// without the lock, or `None` for a release, which may have failed.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (u64, Option<&Why>)> {
        self.records.iter().filter_map(|record| match &record.event {
            Event::Released | Event::ReleaseFailed { .. } => Some((record.at, None)),
            Event::GaveUp { why } => Some((record.at, Some(why))),
            _ => None,
        })
    }

    /// Returns the time at which the wait of the call ended, with the lock or without it.
    pub(crate) fn answered(&self) -> Option<u64> {
        self.grants().map(|(at, _)| at).chain(self.ends().map(|(at, _)| at)).min()
    }

    /// Returns the time at which the call had waited for its whole bound without the lock, or had failed.
    pub(crate) fn in_vain(&self) -> Option<u64> {
        let mut ends = self.ends();
        ends.find(|(_, why)| matches!(why, Some(Why::TimedOut | Why::Error(_)))).map(|(at, _)| at)
    }

    fn begin(record: &Record, id: CallId) -> Option<Self> {
        let Event::Asked { lock, kind, within } = &record.event else { return None };
        Some(Self {
            id,
            asked: record.at,
            lock: Arc::from(lock.as_str()),
            kind: *kind,
            within: *within,
            records: vec![record.clone()],
        })
    }
}

/// Collects the calls of sorted records.
pub(crate) fn collect(records: &[Record]) -> BTreeMap<CallId, Call> {
    let mut calls = BTreeMap::<CallId, Call>::new();
    for record in records {
        let Source::Call(id) = record.by else { continue };
        match calls.get_mut(&id) {
            Some(call) => call.records.push(record.clone()),
            None => calls.extend(Call::begin(record, id).map(|call| (id, call))),
        }
    }
    calls
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
        let (granted, token) = call.grants().next()?;
        let (end, ending) = end(call, (granted, token), campaign, last);
        Some(Self {
            call: call.id,
            lock: call.lock.clone(),
            kind: call.kind,
            asked: call.asked,
            granted,
            token,
            end: end.max(granted),
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
fn end(call: &Call, (granted, token): (u64, Token), campaign: &Campaign, last: u64) -> (u64, Ending) {
    let mut ends = vec![(last, Ending::Open)];
    let first_end = call.ends().next().map(|(at, _)| at);
    ends.extend(call.release_begun().or(first_end).map(|at| (at, Ending::Released)));
    ends.extend(call.told_lost().next().map(|at| (at, Ending::ToldLost)));
    ends.extend(call.leases().map(|(_, until)| until).max().map(|at| (at, Ending::LeaseOver)));
    let broken = campaign.broken.get(&*call.lock).into_iter().flatten();
    let broken = broken.filter(|(_, zxid)| may_be_under(call.kind, token, *zxid));
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
