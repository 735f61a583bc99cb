//! The records that requests consist of, some of which are also operations of a multi.

use bytes::Bytes;

use super::jute::records;
use super::{Acl, Malformed, Reader, Record, Writer};

/// The flags of a create: `CreateMode.toFlag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreateFlags(pub i32);

impl CreateFlags {
    /// A node that stays until it is deleted.
    pub const PERSISTENT: Self = Self(0);
    /// A node that is deleted at the end of the session that created it.
    pub const EPHEMERAL: Self = Self(1);
    /// A persistent node with the parent's counter at the end of its name.
    pub const PERSISTENT_SEQUENTIAL: Self = Self(2);
    /// An ephemeral node with the parent's counter at the end of its name.
    pub const EPHEMERAL_SEQUENTIAL: Self = Self(3);
    /// A node that the server deletes some time after its last child is gone.
    pub const CONTAINER: Self = Self(4);
    /// A node that the server deletes some time after its last change.
    pub const PERSISTENT_WITH_TTL: Self = Self(5);
    /// A node with a time to live and the parent's counter at the end of its name.
    pub const PERSISTENT_SEQUENTIAL_WITH_TTL: Self = Self(6);
}

records!(CreateFlags { 0 });

/// A node to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The path, to which the server appends a counter if the flags ask for one.
    pub path: String,
    /// The data.
    pub data: Option<Bytes>,
    /// The ACL.
    pub acl: Vec<Acl>,
    /// The flags.
    pub flags: CreateFlags,
}

impl Create {
    /// Describes a node whose ACL grants all permissions to everyone.
    pub fn new(path: impl Into<String>, data: impl Into<Bytes>, flags: CreateFlags) -> Self {
        Self { path: path.into(), data: Some(data.into()), acl: vec![Acl::open()], flags }
    }
}

records!(Create { path, data, acl, flags });

/// A node to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The path of the node.
    pub path: String,
    /// The version that the node must have, or -1 for any.
    pub version: i32,
}

records!(Delete { path, version });

/// A node whose version is to be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckVersion {
    /// The path of the node.
    pub path: String,
    /// The version that the node must have, or -1 for any.
    pub version: i32,
}

records!(CheckVersion { path, version });

/// New data for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetData {
    /// The path of the node.
    pub path: String,
    /// The new data.
    pub data: Option<Bytes>,
    /// The version that the node must have, or -1 for any.
    pub version: i32,
}

records!(SetData { path, data, version });

/// A new ACL for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAcl {
    /// The path of the node.
    pub path: String,
    /// The new ACL.
    pub acl: Vec<Acl>,
    /// The version that the node's ACL must have, or -1 for any.
    pub version: i32,
}

records!(SetAcl { path, acl, version });

/// The watches of a client, to be set again on a new connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetWatches {
    /// The last transaction that the client has seen; the server reports later changes at once.
    pub relative_zxid: i64,
    /// Paths with data watches.
    pub data: Vec<String>,
    /// Paths with exist watches.
    pub exist: Vec<String>,
    /// Paths with child watches.
    pub child: Vec<String>,
    /// Paths with persistent watches.
    pub persistent: Vec<String>,
    /// Paths with persistent recursive watches.
    pub persistent_recursive: Vec<String>,
}

impl SetWatches {
    /// Decodes the first version of the record, which has no persistent watches.
    pub(super) fn read_first(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            relative_zxid: reader.long()?,
            data: Record::read(reader)?,
            exist: Record::read(reader)?,
            child: Record::read(reader)?,
            ..Self::default()
        })
    }

    /// Encodes the first version of the record.
    pub(super) fn write_first(&self, writer: &mut Writer) {
        writer.long(self.relative_zxid);
        [&self.data, &self.exist, &self.child].into_iter().for_each(|paths| paths.write(writer));
    }
}

records!(SetWatches { relative_zxid, data, exist, child, persistent, persistent_recursive });

/// A persistent watch to set, on a node or on its whole subtree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddWatch {
    /// The path of the node.
    pub path: String,
    /// Zero for the node and its children, one for the whole subtree: `AddWatchMode`.
    pub mode: i32,
}

records!(AddWatch { path, mode });

/// A kind of watch: `Watcher.WatcherType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatcherType(pub i32);

impl WatcherType {
    /// Child watches.
    pub const CHILDREN: Self = Self(1);
    /// Data and exist watches.
    pub const DATA: Self = Self(2);
    /// All watches.
    pub const ANY: Self = Self(3);
    /// Persistent watches; since ZooKeeper 3.9.
    pub const PERSISTENT: Self = Self(4);
    /// Persistent recursive watches; since ZooKeeper 3.9.
    pub const PERSISTENT_RECURSIVE: Self = Self(5);
}

records!(WatcherType { 0 });
