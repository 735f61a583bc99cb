//! Histories for tests, written as a list of what happened.

use crate::history::{
    CallId, Event, History, Kind, Outcome, Process, Record, Rule, Source, Token, Violation, Way,
};

/// A history under way. Calls are named as in records, such as `1.0/0/0`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story(pub(crate) Vec<Record>);

impl Story {
    pub(crate) fn at(mut self, at: u64, by: &str, event: Event) -> Self {
        self.0.push(Record { at, by: source(by), event });
        self
    }

    pub(crate) fn campaign(self, at: u64, event: Event) -> Self {
        self.at(at, "campaign", event)
    }

    /// A call asks for the lock `a`.
    pub(crate) fn asks(self, call: &str, kind: Kind, at: u64) -> Self {
        self.asks_for(call, "a", kind, at)
    }

    pub(crate) fn asks_for(self, call: &str, lock: &str, kind: Kind, at: u64) -> Self {
        let lock = lock.to_owned();
        let asked = Event::Asked { lock, kind, within: u64::MAX };
        self.at(at, call, asked)
    }

    pub(crate) fn granted(self, call: &str, at: u64, token: u64) -> Self {
        self.granted_until(call, at, token, u64::MAX)
    }

    pub(crate) fn granted_until(self, call: &str, at: u64, token: u64, until: u64) -> Self {
        self.at(at, call, Event::Granted { token: Token(token, 0), until })
    }

    pub(crate) fn told_lost(self, call: &str, at: u64) -> Self {
        self.at(at, call, Event::ToldLost { reason: "expired".to_owned() })
    }

    /// The release begins, and ends one nanosecond later.
    pub(crate) fn releases(self, call: &str, at: u64) -> Self {
        self.at(at, call, Event::ReleaseBegun).at(at + 1, call, Event::Released)
    }

    /// A whole hold of the lock `a`, whose call begins one nanosecond before its grant.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn holds(self, call: &str, kind: Kind, granted: u64, released: u64, token: u64) -> Self {
        self.asks(call, kind, granted - 1).granted(call, granted, token).releases(call, released)
    }

    /// A read of the resource `r`, which takes one nanosecond.
    pub(crate) fn reads(self, call: &str, at: u64, value: u64) -> Self {
        let (resource, value) = ("r".to_owned(), Some(value));
        self.at(at, call, Event::Read { resource, began: at - 1, value })
    }

    /// A write of the resource `r`, which takes one nanosecond.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn writes(self, call: &str, at: u64, way: Way, value: u64, outcome: Outcome) -> Self {
        let resource = "r".to_owned();
        self.at(at, call, Event::Wrote { resource, way, began: at - 1, value, outcome })
    }

    pub(crate) fn history(self) -> History {
        History::new(self.0)
    }
}

pub(crate) fn rules(violations: &[Violation]) -> Vec<Rule> {
    violations.iter().map(|violation| violation.rule).collect()
}

/// Returns the source with this text.
pub(crate) fn source(text: &str) -> Source {
    let numbers: Vec<_> = text.split(['.', '/']).map(|part| part.parse().unwrap_or_default()).collect();
    let process = |number, incarnation| Process { number, incarnation };
    match numbers[..] {
        [number, incarnation] => Source::Process(process(number, incarnation)),
        [number, incarnation, task, call] => {
            Source::Call(CallId { process: process(number, incarnation), task, call: call.into() })
        }
        _ => Source::Campaign,
    }
}
