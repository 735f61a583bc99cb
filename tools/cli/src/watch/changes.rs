//! The difference between two states of the locks.
//!
//! Pure: no request and no clock.

use std::collections::BTreeMap;

use zklock::{Participant, Standing, SurveyedLock};

/// The participants of the locks, by their lock and their node.
#[derive(Debug, Default)]
pub(super) struct State(BTreeMap<(String, String), Participant>);

/// A change of one participant.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) participant: Participant,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Waits,
    Holds,
    Leaves,
}

impl State {
    pub(super) fn of(locks: Vec<SurveyedLock>) -> Self {
        let of_lock = |lock: SurveyedLock| {
            let path = lock.path;
            lock.participants.into_iter().map(move |one| ((path.clone(), one.node.clone()), one))
        };
        Self(locks.into_iter().flat_map(of_lock).collect())
    }

    /// Returns the changes from this state to the next one: first the participants that left.
    pub(super) fn changes(&self, next: &Self) -> Vec<Change> {
        let change = |((path, _), participant): (&(String, String), &Participant), kind| Change {
            path: path.clone(),
            participant: participant.clone(),
            kind,
        };
        let left = self.0.iter().filter(|(key, _)| !next.0.contains_key(*key));
        let left = left.map(|entry| change(entry, Kind::Leaves));
        let is_new = |(key, one): &(&(String, String), &Participant)| {
            self.0.get(*key).is_none_or(|before| before.standing != one.standing)
        };
        let came = next.0.iter().filter(is_new).map(|entry| {
            let kind = if entry.1.standing == Standing::Holds { Kind::Holds } else { Kind::Waits };
            change(entry, kind)
        });
        left.chain(came).collect()
    }
}

impl Change {
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Waits => "waits",
            Kind::Holds => "holds",
            Kind::Leaves => "leaves",
        }
    }
}
