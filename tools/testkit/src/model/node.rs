//! A node of the tree.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::wire::{Acl, Id, Stat, permissions};

/// The kind of a node, which determines when the server deletes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Persistent,
    Ephemeral {
        owner: i64,
    },
    Container,
    /// A node that goes when it has no child, and its data was not replaced for this number of milliseconds.
    TimeToLive {
        millis: i64,
    },
}

impl Kind {
    /// Returns the owner as clients see it, zero for all but ephemeral nodes: `DataNode.getClientEphemeralOwner`.
    fn ephemeral_owner(self) -> i64 {
        match self {
            Self::Ephemeral { owner } => owner,
            Self::Persistent | Self::Container | Self::TimeToLive { .. } => 0,
        }
    }
}

/// The id and the time of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Txn {
    pub(super) zxid: i64,
    /// The time in milliseconds since 1970.
    pub(super) time: i64,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) acl: Vec<Acl>,
    pub(super) children: BTreeSet<String>,
    /// The number of children ever created, which is the counter for sequential names.
    pub(super) creates: i32,
    pub(super) data: Option<Bytes>,
    pub(super) version: i32,
    pub(super) acl_version: i32,
    created: Txn,
    modified: Txn,
    pub(super) pzxid: i64,
}

impl Node {
    pub(super) fn new(kind: Kind, data: Option<Bytes>, acl: Vec<Acl>, txn: Txn) -> Self {
        Self {
            kind,
            acl,
            children: BTreeSet::new(),
            creates: 0,
            data,
            version: 0,
            acl_version: 0,
            created: txn,
            modified: txn,
            pzxid: txn.zxid,
        }
    }

    /// Creates a node that exists before the first transaction.
    pub(super) fn initial(children: &[&str]) -> Self {
        let acl = vec![Acl::open()];
        let children = children.iter().map(|&name| name.to_owned()).collect();
        let node = Self::new(Kind::Persistent, Some(Bytes::new()), acl, Txn { zxid: 0, time: 0 });
        Self { children, ..node }
    }

    /// Creates the node for the ensemble's configuration, which everyone may read.
    pub(super) fn config() -> Self {
        let acl = vec![Acl::new(permissions::READ, Id::new("world", "anyone"))];
        Self { acl, ..Self::initial(&[]) }
    }

    pub(super) fn stat(&self) -> Stat {
        let length = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let num_children = length(self.children.len());
        Stat {
            czxid: self.created.zxid,
            mzxid: self.modified.zxid,
            ctime: self.created.time,
            mtime: self.modified.time,
            version: self.version,
            // Clients see the number of creations and deletions: a child that is gone counts twice.
            cversion: self.creates.wrapping_mul(2).wrapping_sub(num_children),
            aversion: self.acl_version,
            ephemeral_owner: self.kind.ephemeral_owner(),
            data_length: length(self.data.as_ref().map_or(0, Bytes::len)),
            num_children,
            pzxid: self.pzxid,
        }
    }

    /// Replaces the data, and returns the previous data.
    pub(super) fn replace_data(&mut self, data: Option<Bytes>, txn: Txn) -> Data {
        let before = Data { data: self.data.take(), version: self.version, modified: self.modified };
        (self.data, self.modified) = (data, txn);
        self.version = self.version.wrapping_add(1);
        before
    }

    /// Replaces the data without a new version, and returns the previous data.
    pub(super) fn replace_statistics(&mut self, data: Option<Bytes>) -> Option<Bytes> {
        std::mem::replace(&mut self.data, data)
    }

    /// Restores data that was replaced.
    pub(super) fn restore_data(&mut self, before: Data) {
        (self.data, self.version, self.modified) = (before.data, before.version, before.modified);
    }

    /// Returns whether the node has outlived its time, if it has one: `ContainerManager.getCandidates`.
    pub(super) fn is_overdue(&self, now: i64) -> bool {
        match self.kind {
            Kind::TimeToLive { millis } => {
                self.children.is_empty() && now.saturating_sub(self.modified.time) > millis
            }
            _ => false,
        }
    }

    /// Returns the id of the transaction that last changed the data.
    pub(super) fn mzxid(&self) -> i64 {
        self.modified.zxid
    }
}

/// A node's data before a change.
#[derive(Clone, Debug)]
pub(super) struct Data {
    data: Option<Bytes>,
    version: i32,
    modified: Txn,
}
