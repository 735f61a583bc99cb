//! The watches of all connections, in two tables that each correspond to a `WatchManager`.

use std::collections::{BTreeMap, BTreeSet};

use super::ConnectionId;
use super::tree::with_ancestors;
use crate::wire::EventType;

/// The lifetime and the scope of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Mode {
    OneShot,
    Persistent,
    Recursive,
}

type Modes = BTreeSet<Mode>;

/// The watches of one kind, by path and connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Table {
    paths: BTreeMap<String, BTreeMap<ConnectionId, Modes>>,
}

impl Table {
    pub(super) fn add(&mut self, path: &str, connection: ConnectionId, mode: Mode) {
        self.paths.entry(path.to_owned()).or_default().entry(connection).or_default().insert(mode);
    }

    /// Removes the watches of a connection on a path that have one of these modes, and returns whether any were set.
    pub(super) fn remove(&mut self, path: &str, connection: ConnectionId, modes: &[Mode]) -> bool {
        let Some(watchers) = self.paths.get_mut(path) else { return false };
        let Some(set) = watchers.get_mut(&connection) else { return false };
        let before = set.len();
        set.retain(|mode| !modes.contains(mode));
        let is_less = set.len() < before;
        if set.is_empty() {
            watchers.remove(&connection);
        }
        if watchers.is_empty() {
            self.paths.remove(path);
        }
        is_less
    }

    pub(super) fn contains(&self, path: &str, connection: ConnectionId, modes: &[Mode]) -> bool {
        let set = self.paths.get(path).and_then(|watchers| watchers.get(&connection));
        set.is_some_and(|set| modes.iter().any(|mode| set.contains(mode)))
    }

    /// Returns the connections that watch this path, and removes their one-shot watches.
    pub(super) fn trigger(&mut self, path: &str) -> BTreeSet<ConnectionId> {
        let mut told = BTreeSet::new();
        for ancestor in with_ancestors(path) {
            for (&connection, modes) in self.paths.get(ancestor).into_iter().flatten() {
                if ancestor == path || modes.contains(&Mode::Recursive) {
                    told.insert(connection);
                }
            }
        }
        for &connection in &told {
            self.remove(path, connection, &[Mode::OneShot]);
        }
        told
    }

    fn disconnect(&mut self, connection: ConnectionId) {
        self.paths.retain(|_, watchers| {
            watchers.remove(&connection);
            !watchers.is_empty()
        });
    }

    /// Returns the watched paths, each with the connections that watch it.
    pub(super) fn by_path(&self) -> impl Iterator<Item = (&str, BTreeSet<ConnectionId>)> {
        self.paths.iter().map(|(path, watchers)| (path.as_str(), watchers.keys().copied().collect()))
    }

    fn len(&self) -> usize {
        self.paths.values().map(BTreeMap::len).sum()
    }
}

/// All watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watches {
    pub(super) data: Table,
    pub(super) child: Table,
}

impl Watches {
    /// Sets a persistent watch.
    pub(super) fn add_persistent(&mut self, path: &str, connection: ConnectionId) {
        self.data.add(path, connection, Mode::Persistent);
        self.child.add(path, connection, Mode::Persistent);
    }

    /// Sets a persistent watch on a node and its descendants, which gets no [`EventType::ChildrenChanged`].
    pub(super) fn add_recursive(&mut self, path: &str, connection: ConnectionId) {
        self.data.add(path, connection, Mode::Recursive);
    }

    /// Returns the connections to notify of an event, each once, and removes their one-shot watches.
    pub(super) fn trigger(&mut self, event: EventType, path: &str) -> BTreeSet<ConnectionId> {
        match event {
            EventType::ChildrenChanged => self.child.trigger(path),
            EventType::Deleted => {
                let mut told = self.data.trigger(path);
                told.extend(self.child.trigger(path));
                told
            }
            _ => self.data.trigger(path),
        }
    }

    /// Removes the watches of a connection.
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        self.data.disconnect(connection);
        self.child.disconnect(connection);
    }

    pub(super) fn len(&self) -> usize {
        self.data.len() + self.child.len()
    }

    /// Returns the watched paths, each with the connections that watch it.
    pub(super) fn by_path(&self) -> BTreeMap<&str, BTreeSet<ConnectionId>> {
        let mut all: BTreeMap<&str, BTreeSet<ConnectionId>> = BTreeMap::new();
        for (path, watchers) in self.data.by_path().chain(self.child.by_path()) {
            all.entry(path).or_default().extend(watchers);
        }
        all
    }
}
