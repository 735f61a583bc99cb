//! A lock, and the way to enter it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::acquire::{Permits, Wanted};
use crate::events::Subject;
use crate::path::NodePath;
use crate::queue::claim::{Place, Role};

use super::entry::Entry;

/// A lock, and the way to enter it.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) path: NodePath,
    pub(crate) entry: Entry,
    pub(crate) wanted: Wanted,
    /// The name of the lock in events and metrics.
    pub(crate) label: Cow<'static, str>,
}

impl Door {
    pub(crate) fn new(path: NodePath, entry: Entry, wanted: Wanted) -> Self {
        Self { path, entry, wanted, label: UNNAMED }
    }

    /// Returns the door of a lock with one queue.
    pub(crate) fn to_queue(path: NodePath, entry: Entry, role: Role) -> Self {
        let place = Place { role, also_behind: Arc::default() };
        Self::new(path, entry, Wanted::Place(place))
    }

    /// Returns the door of a semaphore.
    pub(crate) fn to_permits(path: NodePath, entry: Entry, permits: Permits) -> Self {
        Self::new(path, entry, Wanted::Permits(permits))
    }

    /// Makes the calls at this door also wait for contenders of other clients with these name patterns.
    pub(crate) fn wait_behind(&mut self, names: &[String]) {
        if let Wanted::Place(place) = &mut self.wanted {
            place.also_behind = names.into();
        }
    }

    /// Returns the same door with a name for events and metrics.
    pub(crate) fn named(self, label: impl Into<Cow<'static, str>>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Returns the description of this door for events.
    pub(crate) fn subject(&self, group: Option<u64>) -> Subject<'_> {
        Subject { path: &self.path, label: &self.label, mode: self.entry.mode(), group }
    }

    /// Returns the name patterns of other clients' contenders that this door waits for.
    pub(crate) fn strangers(&self) -> &[String] {
        match &self.wanted {
            Wanted::Place(place) | Wanted::NextPlace(place) => &place.also_behind,
            Wanted::Permits(_) | Wanted::Office { .. } => &[],
        }
    }
}

/// The name of locks without one.
pub(crate) const UNNAMED: Cow<'static, str> = Cow::Borrowed("unnamed");
