//! The accesses to each resource, with the holds that they were made under.

use std::collections::BTreeMap;

use super::super::event::{Event, Outcome, Token, Way};
use super::super::hold::{Ending, Hold};
use super::super::merged::History;
use super::super::record::{CallId, Record, Source};

/// A resource, and all accesses to it by the time of their ends.
#[derive(Debug, Default)]
pub(super) struct Resource<'a> {
    /// The accesses.
    pub(super) accesses: Vec<Access<'a>>,
    /// The protection of the resource, if it was ever written.
    pub(super) way: Option<Way>,
}

/// A read or a write.
#[derive(Clone, Debug)]
pub(super) struct Access<'a> {
    /// The call.
    pub(super) call: CallId,
    /// The time of the beginning.
    pub(super) began: u64,
    /// The time of the end.
    pub(super) ended: u64,
    /// The read or the write.
    pub(super) act: Act<'a>,
    /// The place in the resource's own order.
    pub(super) position: Option<u64>,
    /// The hold of the call, if it has one.
    pub(super) hold: Option<&'a Hold>,
    /// The record.
    pub(super) record: &'a Record,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act<'a> {
    /// A read of these cells.
    Read(&'a [u64]),
    /// A write.
    Write {
        /// The value.
        value: u64,
        /// The token that the resource saw.
        token: Option<Token>,
        /// The answer.
        outcome: Outcome,
    },
}

impl<'a> Access<'a> {
    /// Tells whether the hold was valid from the beginning of the access to its end.
    pub(super) fn is_covered(&self) -> bool {
        self.hold.is_some_and(|hold| hold.covers(self.began, self.ended))
    }

    /// Tells whether the access is a write that was applied.
    pub(super) fn is_applied(&self) -> bool {
        matches!(self.act, Act::Write { outcome: Outcome::Applied, .. })
    }

    fn of(record: &'a Record, holds: &BTreeMap<CallId, &'a Hold>) -> Option<(&'a str, Option<Way>, Self)> {
        let Source::Call(call) = record.by else { return None };
        let (resource, way, began, act, position) = match &record.event {
            Event::Read { resource, began, cells, position } => {
                (resource, None, *began, Act::Read(cells), *position)
            }
            Event::Wrote { resource, way, began, value, token, outcome, position } => {
                let act = Act::Write { value: *value, token: *token, outcome: *outcome };
                (resource, Some(*way), *began, act, *position)
            }
            _ => return None,
        };
        let hold = holds.get(&call).copied();
        Some((resource, way, Self { call, began, ended: record.at, act, position, hold, record }))
    }
}

impl<'a> Resource<'a> {
    /// Returns the accesses of each call, by their time.
    pub(super) fn by_call(&self) -> BTreeMap<CallId, Vec<&Access<'a>>> {
        let mut calls = BTreeMap::<_, Vec<_>>::new();
        for access in &self.accesses {
            calls.entry(access.call).or_default().push(access);
        }
        calls
    }

    /// Returns the times at which writers may have written that had no valid hold any more, or that left no record.
    pub(super) fn suspects(&self, history: &History) -> Vec<Suspect> {
        let uncovered = self.accesses.iter().filter(|access| is_uncertain(access)).map(|access| {
            let is_unknown = !access.is_applied();
            Suspect {
                call: access.call,
                from: access.began,
                to: if is_unknown { u64::MAX } else { access.ended },
            }
        });
        // A process that dies in the middle of a write does not write its record.
        let died = history.holds().iter().filter_map(|hold| {
            let killed = history.life(hold.process()).killed();
            let is_open = history.call(hold.call).is_some_and(|call| call.ends.is_empty());
            let is_dead = hold.ending == Ending::Died || killed.is_some();
            (is_dead && is_open).then_some(Suspect {
                call: hold.call,
                from: hold.granted,
                to: killed.unwrap_or(hold.end).max(hold.granted),
            })
        });
        uncovered.chain(died).collect()
    }
}

/// The outcome of a write that began too late, or is unknown.
fn is_uncertain(access: &Access<'_>) -> bool {
    match access.act {
        Act::Write { outcome: Outcome::Applied, .. } => !access.is_covered(),
        Act::Write { outcome: Outcome::Unknown, .. } => true,
        _ => false,
    }
}

/// A time at which a call may have changed a resource beside the valid holders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    call: CallId,
    from: u64,
    to: u64,
}

impl Suspect {
    /// Tells whether the change may have come between these times, for an access of another call.
    pub(super) fn may_explain(&self, access: &Access<'_>, from: u64) -> bool {
        self.call != access.call && self.from <= access.ended && self.to >= from
    }
}

/// Returns all resources by their names.
pub(super) fn resources(history: &History) -> BTreeMap<&str, Resource<'_>> {
    let holds: BTreeMap<_, _> = history.holds().iter().map(|hold| (hold.call, hold)).collect();
    let mut resources = BTreeMap::<_, Resource<'_>>::new();
    for record in history.records() {
        if let Some((name, way, access)) = Access::of(record, &holds) {
            let resource = resources.entry(name).or_default();
            resource.way = resource.way.or(way);
            resource.accesses.push(access);
        }
    }
    resources
}
