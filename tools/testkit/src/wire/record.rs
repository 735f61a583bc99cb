//! The records that requests, replies and events have in common: headers, stats, ACLs and watch events.

use super::jute::records;
use super::{ErrorCode, Malformed, Opcode, Reader, Record, Writer};

/// The reserved numbers of requests and replies, which clients do not count up.
pub mod xid {
    /// The number of a watch event.
    pub const NOTIFICATION: i32 = -1;
    /// The number of a ping and its reply.
    pub const PING: i32 = -2;
    /// The number of an authentication and its reply.
    pub const AUTH: i32 = -4;
    /// The number of a request to set watches again, and of its reply.
    pub const SET_WATCHES: i32 = -8;
}

/// The permissions that an ACL can grant, as bits of [`Acl::permissions`](super::Acl::permissions).
pub mod permissions {
    /// The permission to read the node and list its children.
    pub const READ: i32 = 1;
    /// The permission to replace its data.
    pub const WRITE: i32 = 2;
    /// The permission to create children.
    pub const CREATE: i32 = 4;
    /// The permission to delete children.
    pub const DELETE: i32 = 8;
    /// The permission to replace the ACL.
    pub const ADMIN: i32 = 16;
    /// All permissions.
    pub const ALL: i32 = 31;
}

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The number of the request, assigned by the client.
    pub xid: i32,
    /// The requested operation.
    pub opcode: Opcode,
}

records!(RequestHeader { xid, opcode });

/// The header of a reply or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The number of the request, or [`xid::NOTIFICATION`] for an event.
    pub xid: i32,
    /// The last transaction that the server has applied.
    ///
    /// In an event it is the transaction that caused the event, or -1 if the client sets a watch again that
    /// has missed it.
    pub zxid: i64,
    /// The reason why the request failed, or [`ErrorCode::OK`].
    pub error: ErrorCode,
}

records!(ReplyHeader { xid, zxid, error });

/// The metadata of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    /// The transaction that created the node.
    pub czxid: i64,
    /// The transaction that last changed its data.
    pub mzxid: i64,
    /// The time of its creation, in milliseconds since 1970.
    pub ctime: i64,
    /// The time of the last change of its data, in milliseconds since 1970.
    pub mtime: i64,
    /// The number of changes of its data.
    pub version: i32,
    /// The number of creations and deletions of children.
    pub cversion: i32,
    /// The number of changes of its ACL.
    pub aversion: i32,
    /// The session that an ephemeral node belongs to, or zero.
    pub ephemeral_owner: i64,
    /// The length of its data in bytes.
    pub data_length: i32,
    /// The number of its children.
    pub num_children: i32,
    /// The transaction that last created or deleted a child.
    pub pzxid: i64,
}

records! {
    Stat {
        czxid, mzxid, ctime, mtime, version, cversion, aversion, ephemeral_owner, data_length, num_children, pzxid
    }
}

/// An identity as ACLs name it: a scheme, and an id within this scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    /// `world`, `auth`, `digest` or `ip`. Servers refuse a scheme that is null.
    pub scheme: Option<String>,
    /// The id that fits the scheme: `anyone`, an empty string, `user:base64(sha1(user:password))`, or an
    /// address with or without a prefix length. Servers accept an id that is null only with `auth`.
    pub id: Option<String>,
}

impl Id {
    /// Creates an identity whose scheme and id are not null.
    pub fn new(scheme: impl Into<String>, id: impl Into<String>) -> Self {
        Self { scheme: Some(scheme.into()), id: Some(id.into()) }
    }
}

/// One line of an ACL: the permissions of one [`Id`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acl {
    /// A sum of [`permissions`].
    pub permissions: i32,
    /// The identity that has these permissions.
    pub id: Id,
}

impl Acl {
    /// Grants permissions to an identity.
    pub fn new(permissions: i32, id: Id) -> Self {
        Self { permissions, id }
    }

    /// Grants all permissions to everyone.
    pub fn open() -> Self {
        Self::new(permissions::ALL, Id::new("world", "anyone"))
    }
}

records!(Id { scheme, id } Acl { permissions, id });

/// An identity of a connection, as `whoAmI` returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The scheme of the identity.
    pub scheme: String,
    /// The user's name, or the address.
    pub user: String,
}

records!(ClientInfo { scheme, user });

/// The type of a watch event: `Watcher.Event.EventType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum EventType {
    /// The node was created.
    Created = 1,
    /// The node was deleted.
    Deleted = 2,
    /// The node's data was replaced.
    DataChanged = 3,
    /// A child was created or deleted.
    ChildrenChanged = 4,
    /// A persistent watch was removed.
    PersistentWatchRemoved = 7,
}

impl TryFrom<i32> for EventType {
    type Error = Malformed;

    fn try_from(value: i32) -> Result<Self, Malformed> {
        let known = [
            Self::Created,
            Self::Deleted,
            Self::DataChanged,
            Self::ChildrenChanged,
            Self::PersistentWatchRemoved,
        ];
        let event = known.into_iter().find(|&event| event as i32 == value);
        event.ok_or(Malformed::Value { what: "event", value })
    }
}

/// A watch event, sent with the number [`xid::NOTIFICATION`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchEvent {
    /// The type of the event.
    pub event: EventType,
    /// The path of the node that the event is about.
    pub path: String,
}

impl WatchEvent {
    /// The state in every event of a healthy server: `KeeperState.SyncConnected`.
    const CONNECTED: i32 = 3;
}

impl Record for WatchEvent {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        let event = EventType::try_from(reader.int()?)?;
        match reader.int()? {
            Self::CONNECTED => Ok(Self { event, path: reader.string()? }),
            value => Err(Malformed::Value { what: "state of a healthy server", value }),
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.event as i32);
        writer.int(Self::CONNECTED);
        writer.string(&self.path);
    }
}
