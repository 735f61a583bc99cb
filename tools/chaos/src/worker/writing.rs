//! The records of reads and writes.

use crate::history::{Event, Outcome, Token, Way};
use zklock::FencingToken;

use crate::journal::now;

use super::task::{Calls, portable};

/// A write under way, whose outcome is unknown if this value is dropped.
pub(super) struct Writing<'a> {
    calls: &'a Calls,
    member: usize,
    resource: String,
    way: Way,
    token: Option<Token>,
    began: u64,
    is_noted: bool,
}

impl<'a> Writing<'a> {
    /// Begins a write of a member's value.
    pub(super) fn begin(calls: &'a Calls, member: usize, resource: &str, way: Way) -> Self {
        let resource = resource.to_owned();
        Self { calls, member, resource, way, token: None, began: now(), is_noted: false }
    }

    /// Names the token that the write passes to the resource.
    pub(super) fn with(mut self, token: FencingToken) -> Self {
        self.token = Some(portable(token));
        self
    }

    pub(super) fn value(&self) -> u64 {
        self.calls.value(self.member)
    }

    /// Notes the outcome.
    pub(super) fn ends(mut self, outcome: Outcome) {
        self.note(outcome);
    }

    fn note(&mut self, outcome: Outcome) {
        self.is_noted = true;
        let (value, resource) = (self.value(), self.resource.clone());
        let (way, began, token) = (self.way, self.began, self.token);
        let event = Event::Wrote { resource, way, began, value, token, outcome };
        self.calls.note_of(self.member, event);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_noted {
            self.note(Outcome::Unknown);
        }
    }
}

/// Notes a read that began at this time, with its value unless that is unknown.
pub(super) fn read(calls: &Calls, member: usize, resource: &str, began: u64, value: Option<u64>) {
    calls.note_of(member, Event::Read { resource: resource.to_owned(), began, value });
}
