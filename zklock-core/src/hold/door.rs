//! A lock, and how to enter it.

use crate::acquire::{Permits, Wanted};
use crate::path::NodePath;
use crate::queue::claim::{Place, Role};

use super::entry::Entry;

/// A lock, and how to enter it.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) path: NodePath,
    pub(crate) entry: Entry,
    pub(crate) wanted: Wanted,
}

impl Door {
    /// The door of a lock with one queue.
    pub(crate) fn to_queue(path: NodePath, entry: Entry, role: Role) -> Self {
        let place = Place { role, also_behind: [].into() };
        Self { path, entry, wanted: Wanted::Place(place) }
    }

    /// The door of a semaphore.
    pub(crate) fn to_permits(path: NodePath, entry: Entry, permits: Permits) -> Self {
        Self { path, entry, wanted: Wanted::Permits(permits) }
    }

    /// The same door, entered only after other clients' contenders with these names.
    pub(crate) fn also_behind(mut self, names: &[String]) -> Self {
        if let Wanted::Place(place) = &mut self.wanted {
            place.also_behind = names.into();
        }
        self
    }

    /// The names of other clients' contenders that are honoured.
    pub(crate) fn strangers(&self) -> &[String] {
        match &self.wanted {
            Wanted::Place(place) => &place.also_behind,
            Wanted::Permits(_) | Wanted::Office { .. } => &[],
        }
    }
}
