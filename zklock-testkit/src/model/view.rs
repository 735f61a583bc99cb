//! What can be seen of a server from outside of its protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
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

/// A connection as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionView {
    /// The connection.
    pub id: ConnectionId,
    /// Where it comes from.
    pub from: IpAddr,
    /// The session that is attached to it, if there is one.
    pub session: Option<i64>,
}

impl Model {
    /// The sessions that live, by id.
    pub fn sessions(&self) -> Vec<SessionView> {
        let view = |(id, session): (i64, &super::sessions::Session)| SessionView {
            id,
            timeout: Duration::from_millis(session.timeout.max(0).unsigned_abs().into()),
            connection: session.connection,
        };
        self.sessions.iter().map(view).collect()
    }

    /// The connections that are open.
    pub fn connections(&self) -> Vec<ConnectionView> {
        let view = |(&id, connection): (&ConnectionId, &super::connection::Connection)| ConnectionView {
            id,
            from: connection.from,
            session: connection.session,
        };
        self.connections.iter().map(view).collect()
    }

    /// The stat of a node, or `None` if there is no such node.
    pub fn node(&self, path: &str) -> Option<Stat> {
        self.tree.get(path).map(super::node::Node::stat)
    }

    /// The data of a node, or `None` if there is no such node or it has none.
    pub fn data(&self, path: &str) -> Option<Bytes> {
        self.tree.get(path)?.data.clone()
    }

    /// The names of a node's children in order, or `None` if there is no such node.
    pub fn children(&self, path: &str) -> Option<Vec<String>> {
        Some(self.tree.get(path)?.children.iter().cloned().collect())
    }

    /// The number that the next sequential child of a node gets, or `None` if there is no such node.
    pub fn counter(&self, path: &str) -> Option<i32> {
        Some(self.tree.get(path)?.creates)
    }

    /// The paths of all nodes, in order.
    pub fn paths(&self) -> Vec<String> {
        self.tree.paths().map(str::to_owned).collect()
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.tree.len()
    }

    /// The paths of the ephemeral nodes, by session.
    pub fn ephemerals(&self) -> &BTreeMap<i64, BTreeSet<String>> {
        self.tree.ephemerals()
    }

    /// How many bytes the paths and the data of all nodes have.
    pub fn data_size(&self) -> usize {
        let size = |path: &str| path.len() + self.data(path).map_or(0, |data| data.len());
        self.tree.paths().map(size).sum()
    }

    /// How many watches are set.
    pub fn watch_count(&self) -> usize {
        self.watches.len()
    }

    /// The sessions that watch each path.
    pub fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.by_session(self.watches.by_path())
    }

    /// The sessions that watch each path for more than its children: all that a real server's words tell of.
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

    /// The last transaction.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }
}
