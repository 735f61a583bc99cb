//! The accesses to each resource, with the holds that they were made under.

use std::collections::BTreeMap;

use super::super::event::{Event, Token};
use super::super::event::{Outcome, Way};
use super::super::hold::Hold;
use super::super::merged::History;
use super::super::record::Record;
use super::super::source::{CallId, Source};

/// A resource, and all accesses to it by the time of their ends.
#[derive(Debug, Default)]
pub(crate) struct Resource<'a> {
    pub(crate) accesses: Vec<Access<'a>>,
    /// The protection of the resource, if it was ever written.
    pub(crate) way: Option<Way>,
}

/// A read or a write.
#[derive(Clone, Debug)]
pub(crate) struct Access<'a> {
    pub(crate) call: CallId,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) act: Act,
    /// The hold of the call, if it has one.
    pub(crate) hold: Option<&'a Hold>,
    pub(crate) record: &'a Record,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// A read of this value, if it is known.
    Read(Option<u64>),
    /// A write.
    Write { value: u64, token: Option<Token>, outcome: Outcome },
}

impl<'a> Access<'a> {
    /// Tells whether the hold was valid from the beginning of the access to its end.
    pub(crate) fn is_covered(&self) -> bool {
        self.hold.is_some_and(|hold| hold.covers(self.began, self.ended))
    }

    /// Tells whether the access is a write that was applied.
    pub(crate) fn is_applied(&self) -> bool {
        matches!(self.act, Act::Write { outcome: Outcome::Applied, .. })
    }

    fn of(record: &'a Record, holds: &BTreeMap<CallId, &'a Hold>) -> Option<(&'a str, Option<Way>, Self)> {
        let Source::Call(call) = record.by else { return None };
        let (resource, way, began, act) = match &record.event {
            Event::Read { resource, began, value } => (resource, None, *began, Act::Read(*value)),
            Event::Wrote { resource, way, began, value, token, outcome } => {
                let act = Act::Write { value: *value, token: *token, outcome: *outcome };
                (resource, Some(*way), *began, act)
            }
            _ => return None,
        };
        let hold = holds.get(&call).copied();
        Some((resource, way, Self { call, began, ended: record.at, act, hold, record }))
    }
}

impl<'a> Resource<'a> {
    /// Returns the accesses of each call, by their time.
    pub(crate) fn by_call(&self) -> BTreeMap<CallId, Vec<&Access<'a>>> {
        let mut calls = BTreeMap::<_, Vec<_>>::new();
        for access in &self.accesses {
            calls.entry(access.call).or_default().push(access);
        }
        calls
    }
}

/// Returns all resources by their names.
pub(crate) fn resources(history: &History) -> BTreeMap<&str, Resource<'_>> {
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
