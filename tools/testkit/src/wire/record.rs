//! The records that requests and replies consist of.

use bytes::Bytes;

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
    pub opcode: Opcode,
}

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
    pub data_length: i32,
    pub num_children: i32,
    /// The transaction that last created or deleted a child.
    pub pzxid: i64,
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

/// An identity of a connection, as `whoAmI` returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub scheme: String,
    /// The user's name, or the address.
    pub user: String,
}

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

impl Record for EventType {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        use EventType::*;
        let value = reader.int()?;
        let known = [Created, Deleted, DataChanged, ChildrenChanged, PersistentWatchRemoved];
        let event = known.into_iter().find(|&event| event as i32 == value);
        event.ok_or(Malformed::Value { what: "event", value })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(*self as i32);
    }
}

/// A watch event, sent with the number [`xid::NOTIFICATION`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchEvent {
    pub event: EventType,
    pub path: String,
}

impl WatchEvent {
    /// The state in every event of a healthy server: `KeeperState.SyncConnected`.
    const CONNECTED: i32 = 3;
}

impl Record for WatchEvent {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        let event = Record::read(reader)?;
        match reader.int()? {
            Self::CONNECTED => Ok(Self { event, path: Record::read(reader)? }),
            value => Err(Malformed::Value { what: "state of a healthy server", value }),
        }
    }

    fn write(&self, writer: &mut Writer) {
        self.event.write(writer);
        writer.int(Self::CONNECTED);
        writer.string(&self.path);
    }
}

/// The first frame of a connection: opens a session, or attaches to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The version of the protocol, which is zero.
    pub protocol_version: i32,
    /// The greatest zxid that the client has seen; a server that is behind it refuses the connection.
    pub last_zxid_seen: i64,
    /// The requested session timeout, in milliseconds.
    pub timeout: i32,
    /// The session to attach to, or zero for a new one.
    pub session_id: i64,
    /// The session's password, which has 16 bytes.
    pub password: Option<Bytes>,
    /// Whether the client accepts a server without a quorum; old clients omit this field.
    pub read_only: Option<bool>,
}

impl Default for ConnectRequest {
    /// Requests a new session with a timeout of 30 s, long enough that no session expires by accident in a test.
    fn default() -> Self {
        Self {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout: 30_000,
            session_id: 0,
            password: Some(Bytes::from_static(&[0; 16])),
            read_only: Some(false),
        }
    }
}

impl ConnectRequest {
    /// Requests a new session with this timeout in milliseconds.
    pub fn with_timeout(timeout: i32) -> Self {
        Self { timeout, ..Self::default() }
    }

    /// Requests to attach to a session, with the session's present timeout.
    pub fn attach(session: &ConnectResponse) -> Self {
        Self {
            timeout: session.timeout,
            session_id: session.session_id,
            password: session.password.clone(),
            ..Self::default()
        }
    }
}

/// The answer to a [`ConnectRequest`]. The default one refuses the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectResponse {
    /// The version of the protocol, which is zero.
    pub protocol_version: i32,
    /// The negotiated session timeout in milliseconds; zero when the session has expired.
    pub timeout: i32,
    /// The id of the session; zero when the session has expired.
    pub session_id: i64,
    pub password: Option<Bytes>,
    /// Whether the server has no quorum; present only if the request has its `read_only` field.
    pub read_only: Option<bool>,
}

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

/// A node to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The path, to which the server appends a counter if the flags ask for one.
    pub path: String,
    pub data: Option<Bytes>,
    pub acl: Vec<Acl>,
    pub flags: CreateFlags,
}

impl Create {
    /// Describes a node whose ACL grants all permissions to everyone.
    pub fn new(path: impl Into<String>, data: impl Into<Bytes>, flags: CreateFlags) -> Self {
        Self { path: path.into(), data: Some(data.into()), acl: vec![Acl::open()], flags }
    }
}

/// A node to delete, which must have this version, or any if that is -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    pub path: String,
    pub version: i32,
}

/// A node whose version is to be checked, where -1 stands for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckVersion {
    pub path: String,
    pub version: i32,
}

/// New data for a node, which must have this version, or any if that is -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetData {
    pub path: String,
    pub data: Option<Bytes>,
    pub version: i32,
}

/// A new ACL for a node, whose ACL must have this version, or any if that is -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAcl {
    pub path: String,
    pub acl: Vec<Acl>,
    pub version: i32,
}

/// The watches of a client, to be set again on a new connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetWatches {
    /// The last transaction that the client has seen; the server reports later changes at once.
    pub relative_zxid: i64,
    pub data: Vec<String>,
    pub exist: Vec<String>,
    pub child: Vec<String>,
    pub persistent: Vec<String>,
    pub persistent_recursive: Vec<String>,
}

impl SetWatches {
    /// Decodes the first version of the record, which has no persistent watches.
    pub(super) fn read_first(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            relative_zxid: Record::read(reader)?,
            data: Record::read(reader)?,
            exist: Record::read(reader)?,
            child: Record::read(reader)?,
            ..Self::default()
        })
    }

    /// Encodes the first version of the record.
    pub(super) fn write_first(&self, writer: &mut Writer) {
        self.relative_zxid.write(writer);
        [&self.data, &self.exist, &self.child].into_iter().for_each(|paths| paths.write(writer));
    }
}

/// A persistent watch to set, on a node or on its whole subtree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddWatch {
    pub path: String,
    /// Zero for the node and its children, one for the whole subtree: `AddWatchMode`.
    pub mode: i32,
}

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

// The fields of each record in the order in which they are encoded.
records! {
    RequestHeader { xid, opcode }
    ReplyHeader { xid, zxid, error }
    Stat {
        czxid, mzxid, ctime, mtime, version, cversion, aversion, ephemeral_owner, data_length, num_children, pzxid
    }
    Id { scheme, id }
    Acl { permissions, id }
    ClientInfo { scheme, user }
    ConnectRequest { protocol_version, last_zxid_seen, timeout, session_id, password, read_only }
    ConnectResponse { protocol_version, timeout, session_id, password, read_only }
    CreateFlags { 0 }
    Create { path, data, acl, flags }
    Delete { path, version }
    CheckVersion { path, version }
    SetData { path, data, version }
    SetAcl { path, acl, version }
    SetWatches { relative_zxid, data, exist, child, persistent, persistent_recursive }
    AddWatch { path, mode }
    WatcherType { 0 }
}
