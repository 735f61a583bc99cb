use std::collections::BTreeSet;

use bytes::Bytes;

use crate::wire::{Acl, Id, Stat, permissions};

/// Why a node may go without being deleted by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Persistent,
    Ephemeral { owner: i64 },
    Container,
}

impl Kind {
    /// The owner as clients see it, which for a container is none: `DataNode.getClientEphemeralOwner`.
    fn ephemeral_owner(self) -> i64 {
        match self {
            Self::Ephemeral { owner } => owner,
            Self::Persistent | Self::Container => 0,
        }
    }
}

/// The transaction that changes something, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Txn {
    pub(super) zxid: i64,
    /// Milliseconds since 1970.
    pub(super) time: i64,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) acl: Vec<Acl>,
    pub(super) children: BTreeSet<String>,
    /// How many children were ever created: the counter of sequential names.
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

    /// A node that was there before the first transaction.
    pub(super) fn initial(children: &[&str]) -> Self {
        let acl = vec![Acl::open()];
        let children = children.iter().map(|&name| name.to_owned()).collect();
        let node = Self::new(Kind::Persistent, Some(Bytes::new()), acl, Txn { zxid: 0, time: 0 });
        Self { children, ..node }
    }

    /// The node that holds the ensemble's configuration: everybody may read it.
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
            // Clients see how often children changed: every child that is not there any more did so twice.
            cversion: self.creates.wrapping_mul(2).wrapping_sub(num_children),
            aversion: self.acl_version,
            ephemeral_owner: self.kind.ephemeral_owner(),
            data_length: length(self.data.as_ref().map_or(0, Bytes::len)),
            num_children,
            pzxid: self.pzxid,
        }
    }

    /// Replaces the data, and gives back what undoes that.
    pub(super) fn replace_data(&mut self, data: Option<Bytes>, txn: Txn) -> Data {
        let before = Data { data: self.data.take(), version: self.version, modified: self.modified };
        (self.data, self.modified) = (data, txn);
        self.version = self.version.wrapping_add(1);
        before
    }

    /// Puts data back as it was.
    pub(super) fn restore_data(&mut self, before: Data) {
        (self.data, self.version, self.modified) = (before.data, before.version, before.modified);
    }

    /// The transaction that last changed the data.
    pub(super) fn mzxid(&self) -> i64 {
        self.modified.zxid
    }
}

/// A node's data before a change of it.
#[derive(Clone, Debug)]
pub(super) struct Data {
    data: Option<Bytes>,
    version: i32,
    modified: Txn,
}
