//! The accesses to each resource, with the holds that they were made under.

use std::collections::{BTreeMap, BTreeSet};

use super::super::access::{Outcome, Way};
use super::super::event::{Event, Token};
use super::super::hold::Hold;
use super::super::merged::History;
use super::super::record::Record;
use super::super::source::{CallId, Source};

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

    /// Returns the writers that may have written when they had no valid hold any more, or that left no record.
    pub(super) fn suspects(&self, history: &History) -> Suspects {
        let uncovered = self.accesses.iter().filter_map(|access| {
            let Act::Write { value, outcome, .. } = access.act else { return None };
            let to = match outcome {
                Outcome::Applied if !access.is_covered() => access.ended,
                Outcome::Unknown => u64::MAX,
                _ => return None,
            };
            Some(Suspect { from: access.began, to, value: Some(value) })
        });
        // A process that dies in the middle of a write does not write its record.
        let died = history.holds().iter().filter_map(|hold| {
            let killed = history.life(hold.process()).killed()?;
            let is_open = history.call(hold.call).is_some_and(|call| call.ends.is_empty());
            is_open.then_some(Suspect { from: hold.granted, to: killed, value: None })
        });
        let values = self.accesses.iter().filter_map(|access| match access.act {
            Act::Write { value, .. } => Some(value),
            Act::Read(_) => None,
        });
        Suspects { suspects: uncovered.chain(died).collect(), recorded: values.collect() }
    }
}

/// The writers that may have changed a resource beside the valid holders.
#[derive(Debug)]
pub(super) struct Suspects {
    suspects: Vec<Suspect>,
    /// The values of all writes that have a record.
    recorded: BTreeSet<u64>,
}

/// A time in which a value may have been written, which is unknown if there is no record.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    from: u64,
    to: u64,
    value: Option<u64>,
}

impl Suspects {
    /// Tells whether this cell may have been written between a time and the end of an access.
    pub(super) fn may_explain(&self, access: &Access<'_>, from: u64, cell: u64) -> bool {
        self.suspects.iter().any(|suspect| {
            let is_its_value =
                suspect.value.map_or_else(|| !self.recorded.contains(&cell), |value| value == cell);
            suspect.from <= access.ended && suspect.to >= from && is_its_value
        })
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
