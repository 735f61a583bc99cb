use super::{ErrorCode, Malformed, Opcode, Reader, Record, Writer};

/// The numbers of requests and replies that are not a client's own.
pub mod xid {
    /// Of a watch event.
    pub const NOTIFICATION: i32 = -1;
    /// Of a ping and its answer.
    pub const PING: i32 = -2;
    /// Of an identity and its answer.
    pub const AUTH: i32 = -4;
    /// Of watches that are set again, and the answer.
    pub const SET_WATCHES: i32 = -8;
}

/// What an ACL may allow, as bits of [`Acl::permissions`](super::Acl::permissions).
pub mod permissions {
    /// To read the node and list its children.
    pub const READ: i32 = 1;
    /// To replace its data.
    pub const WRITE: i32 = 2;
    /// To create children.
    pub const CREATE: i32 = 4;
    /// To delete children.
    pub const DELETE: i32 = 8;
    /// To replace the ACL.
    pub const ADMIN: i32 = 16;
    /// All of them.
    pub const ALL: i32 = 31;
}

/// What stands in front of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The client's number of the request.
    pub xid: i32,
    /// What is asked for.
    pub opcode: Opcode,
}

impl Record for RequestHeader {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self { xid: reader.int()?, opcode: Opcode(reader.int()?) })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.xid);
        writer.int(self.opcode.0);
    }
}

/// What stands in front of a reply or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The client's number of the request.
    pub xid: i32,
    /// The last transaction that the server has applied; -1 for an event.
    pub zxid: i64,
    /// Why the request failed, or [`ErrorCode::OK`].
    pub error: ErrorCode,
}

impl Record for ReplyHeader {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self { xid: reader.int()?, zxid: reader.long()?, error: ErrorCode(reader.int()?) })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.xid);
        writer.long(self.zxid);
        writer.int(self.error.0);
    }
}

/// What a server knows of a node besides its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    /// The transaction that created the node.
    pub czxid: i64,
    /// The transaction that last changed its data.
    pub mzxid: i64,
    /// When it was created, in milliseconds since 1970.
    pub ctime: i64,
    /// When its data was last changed, in milliseconds since 1970.
    pub mtime: i64,
    /// How often its data was changed.
    pub version: i32,
    /// How often children were created and deleted.
    pub cversion: i32,
    /// How often its ACL was changed.
    pub aversion: i32,
    /// The session that an ephemeral node belongs to, or zero.
    pub ephemeral_owner: i64,
    /// The length of its data in bytes.
    pub data_length: i32,
    /// How many children it has.
    pub num_children: i32,
    /// The transaction that last created or deleted a child.
    pub pzxid: i64,
}

impl Record for Stat {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            czxid: reader.long()?,
            mzxid: reader.long()?,
            ctime: reader.long()?,
            mtime: reader.long()?,
            version: reader.int()?,
            cversion: reader.int()?,
            aversion: reader.int()?,
            ephemeral_owner: reader.long()?,
            data_length: reader.int()?,
            num_children: reader.int()?,
            pzxid: reader.long()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        [self.czxid, self.mzxid, self.ctime, self.mtime].into_iter().for_each(|value| writer.long(value));
        [self.version, self.cversion, self.aversion].into_iter().for_each(|value| writer.int(value));
        writer.long(self.ephemeral_owner);
        writer.int(self.data_length);
        writer.int(self.num_children);
        writer.long(self.pzxid);
    }
}

/// Somebody, as ACLs name them: a scheme and what it knows them by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    /// `world`, `auth`, `digest` or `ip`.
    pub scheme: String,
    /// `anyone`, nothing, `user:base64(sha1(user:password))`, or an address with or without a prefix length.
    pub id: String,
}

impl Id {
    /// Names somebody.
    pub fn new(scheme: impl Into<String>, id: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), id: id.into() }
    }
}

/// One line of an ACL: what one [`Id`] may do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acl {
    /// A sum of [`permissions`].
    pub permissions: i32,
    /// Who may do it.
    pub id: Id,
}

impl Acl {
    /// Allows somebody something.
    pub fn new(permissions: i32, id: Id) -> Self {
        Self { permissions, id }
    }

    /// Allows everybody everything.
    pub fn open() -> Self {
        Self::new(permissions::ALL, Id::new("world", "anyone"))
    }
}

impl Record for Acl {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self::new(reader.int()?, Id::new(reader.string()?, reader.string()?)))
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.permissions);
        writer.string(&self.id.scheme);
        writer.string(&self.id.id);
    }
}

/// Reads a list of ACL lines, where null is none.
pub(super) fn read_acl(reader: &mut Reader) -> Result<Vec<Acl>, Malformed> {
    reader.vector(Acl::read)
}

/// Writes a list of ACL lines.
pub(super) fn write_acl(acl: &[Acl], writer: &mut Writer) {
    writer.vector(acl, |writer, line| line.write(writer));
}

/// An identity of a connection, as `whoAmI` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The scheme of the identity.
    pub scheme: String,
    /// The user's name, or the address.
    pub user: String,
}

impl Record for ClientInfo {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self { scheme: reader.string()?, user: reader.string()? })
    }

    fn write(&self, writer: &mut Writer) {
        writer.string(&self.scheme);
        writer.string(&self.user);
    }
}

/// What a watch tells: `Watcher.Event.EventType`.
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

/// An event of a watch, sent under [`xid::NOTIFICATION`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchEvent {
    /// What happened.
    pub event: EventType,
    /// The node that it happened to.
    pub path: String,
}

impl WatchEvent {
    /// `KeeperState.SyncConnected`: the state that every event of a healthy server tells.
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
