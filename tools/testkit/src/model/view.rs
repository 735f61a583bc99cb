//! Views of the server's state from outside of its protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use super::{ConnectionId, Model};
use crate::wire::Stat;

/// A session as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionView {
    /// The session's id.
    pub id: i64,
    /// The negotiated timeout.
    pub timeout: Duration,
    /// The connection that it is attached to, if it is attached.
    pub connection: Option<ConnectionId>,
}

impl Model {
    /// Returns the live sessions in the order of their ids.
    pub fn sessions(&self) -> Vec<SessionView> {
        let view = |(id, session): (&i64, &super::sessions::Session)| SessionView {
            id: *id,
            timeout: Duration::from_millis(session.timeout.max(0).unsigned_abs().into()),
            connection: session.connection,
        };
        self.sessions.live.iter().map(view).collect()
    }

    /// Returns the number of open connections.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Returns the stat of a node, or `None` if the node does not exist.
    pub fn node(&self, path: &str) -> Option<Stat> {
        self.tree.get(path).map(super::tree::Node::stat)
    }

    /// Returns the data of a node, or `None` if the node does not exist or has no data.
    pub fn data(&self, path: &str) -> Option<Bytes> {
        self.tree.get(path)?.data.bytes.clone()
    }

    /// Returns the sorted names of a node's children, or `None` if the node does not exist.
    pub fn children(&self, path: &str) -> Option<Vec<String>> {
        Some(self.tree.get(path)?.children.iter().cloned().collect())
    }

    /// Returns the number for the next sequential child of a node, or `None` if the node does not exist.
    pub fn counter(&self, path: &str) -> Option<i32> {
        Some(self.tree.get(path)?.creates)
    }

    /// Returns the sorted paths of all nodes.
    pub fn paths(&self) -> Vec<String> {
        self.tree.paths().map(str::to_owned).collect()
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.tree.len()
    }

    /// Returns the paths of the ephemeral nodes, by session.
    pub fn ephemerals(&self) -> &BTreeMap<i64, BTreeSet<String>> {
        self.tree.ephemerals()
    }

    /// Returns the total size of the paths and the data of all nodes, in bytes.
    pub fn data_size(&self) -> usize {
        let size = |path: &str| path.len() + self.data(path).map_or(0, |data| data.len());
        self.tree.paths().map(size).sum()
    }

    /// Returns the number of watches.
    pub fn watch_count(&self) -> usize {
        self.watches.len()
    }

    /// Returns the sessions that watch each path.
    pub fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.by_session(self.watches.by_path())
    }

    /// Returns the sessions that watch each path for more than its children, which are all the watches that a
    /// real server's four-letter words report.
    pub fn data_watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.by_session(self.watches.data.by_path())
    }

    fn by_session<'a>(
        &self,
        watches: impl IntoIterator<Item = (&'a str, BTreeSet<ConnectionId>)>,
    ) -> BTreeMap<String, BTreeSet<i64>> {
        let sessions = |connections: BTreeSet<ConnectionId>| {
            connections.into_iter().filter_map(|connection| self.session_of(connection)).collect()
        };
        watches.into_iter().map(|(path, watchers)| (path.to_owned(), sessions(watchers))).collect()
    }

    /// Returns the id of the last transaction.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }
}
