//! The requests of clients.

use bytes::Bytes;

use super::jute::variants;
use super::{
    AddWatch, CheckVersion, Create, Delete, Malformed, Opcode, Reader, Record, SetAcl, SetData, SetWatches,
    WatcherType, Writer,
};

/// A request of a client, other than a [`ConnectRequest`](super::ConnectRequest).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// [`Opcode::CREATE`], answered by the path alone.
    Create(Create),
    /// [`Opcode::CREATE2`], answered by the path and the stat.
    Create2(Create),
    /// [`Opcode::CREATE_CONTAINER`].
    CreateContainer(Create),
    /// [`Opcode::CREATE_TTL`], with the time to live after the last change, in milliseconds.
    CreateTtl { create: Create, ttl: i64 },
    /// [`Opcode::DELETE`].
    Delete(Delete),
    /// [`Opcode::EXISTS`]. Its watch is a data watch, or an exist watch if the node does not exist.
    Exists { path: String, watch: bool },
    /// [`Opcode::GET_DATA`], with a data watch.
    GetData { path: String, watch: bool },
    /// [`Opcode::SET_DATA`].
    SetData(SetData),
    /// [`Opcode::GET_ACL`].
    GetAcl { path: String },
    /// [`Opcode::SET_ACL`].
    SetAcl(SetAcl),
    /// [`Opcode::GET_CHILDREN`], with a child watch.
    GetChildren { path: String, watch: bool },
    /// [`Opcode::GET_CHILDREN2`], with a child watch.
    GetChildren2 { path: String, watch: bool },
    /// [`Opcode::SYNC`]. A server only returns the path, which may be any.
    Sync { path: String },
    /// [`Opcode::CHECK`], which servers support only within a multi.
    Check(CheckVersion),
    /// [`Opcode::MULTI`], with an [`Op`](super::Op) for each change.
    Multi(Vec<Self>),
    /// [`Opcode::MULTI_READ`], with an [`Op`](super::Op) for each read.
    MultiRead(Vec<Self>),
    /// [`Opcode::PING`].
    Ping,
    /// [`Opcode::AUTH`].
    Auth { scheme: String, auth: Option<Bytes> },
    /// [`Opcode::SET_WATCHES`], without persistent watches.
    SetWatches(SetWatches),
    /// [`Opcode::SET_WATCHES2`].
    SetWatches2(SetWatches),
    /// [`Opcode::ADD_WATCH`].
    AddWatch(AddWatch),
    /// [`Opcode::CHECK_WATCHES`].
    CheckWatches { path: String, kind: WatcherType },
    /// [`Opcode::REMOVE_WATCHES`].
    RemoveWatches { path: String, kind: WatcherType },
    /// [`Opcode::GET_EPHEMERALS`] whose paths begin with the prefix.
    GetEphemerals { prefix: String },
    /// [`Opcode::GET_ALL_CHILDREN_NUMBER`].
    GetAllChildrenNumber { path: String },
    /// [`Opcode::WHO_AM_I`].
    WhoAmI,
    /// [`Opcode::CLOSE_SESSION`].
    CloseSession,
    /// A request with any other opcode, and the rest of its frame.
    Unknown { opcode: Opcode, body: Bytes },
}

variants!(Request {
    CREATE => Create(create),
    CREATE2 => Create2(create),
    CREATE_CONTAINER => CreateContainer(create),
    CREATE_TTL => CreateTtl { create, ttl },
    DELETE => Delete(delete),
    EXISTS => Exists { path, watch },
    GET_DATA => GetData { path, watch },
    SET_DATA => SetData(set),
    GET_ACL => GetAcl { path },
    SET_ACL => SetAcl(set),
    GET_CHILDREN => GetChildren { path, watch },
    GET_CHILDREN2 => GetChildren2 { path, watch },
    SYNC => Sync { path },
    CHECK => Check(check),
    MULTI => Multi(ops),
    MULTI_READ => MultiRead(ops),
    PING => Ping,
    SET_WATCHES2 => SetWatches2(watches),
    ADD_WATCH => AddWatch(add),
    CHECK_WATCHES => CheckWatches { path, kind },
    REMOVE_WATCHES => RemoveWatches { path, kind },
    GET_EPHEMERALS => GetEphemerals { prefix },
    GET_ALL_CHILDREN_NUMBER => GetAllChildrenNumber { path },
    WHO_AM_I => WhoAmI,
    CLOSE_SESSION => CloseSession,
});

impl Request {
    /// Returns the opcode for the header of this request.
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Auth { .. } => Opcode::AUTH,
            Self::Unknown { opcode, .. } => *opcode,
            // All others are listed.
            _ => self.listed_opcode().unwrap_or(Opcode::SET_WATCHES),
        }
    }

    /// Decodes a request after its header. Like a server, it ignores any bytes that follow the request.
    pub fn read(opcode: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        if let Some(request) = Self::read_listed(opcode, reader)? {
            return Ok(request);
        }
        Ok(match opcode {
            Opcode::AUTH => {
                reader.int()?;
                // A server knows a scheme that is null as little as one that is empty.
                let scheme: Option<String> = Record::read(reader)?;
                Self::Auth { scheme: scheme.unwrap_or_default(), auth: Record::read(reader)? }
            }
            Opcode::SET_WATCHES => Self::SetWatches(SetWatches::read_first(reader)?),
            _ => Self::Unknown { opcode, body: reader.rest() },
        })
    }

    /// Encodes the request, without its header.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            Self::Auth { scheme, auth } => {
                writer.int(0);
                scheme.write(writer);
                auth.write(writer);
            }
            Self::SetWatches(watches) => watches.write_first(writer),
            Self::Unknown { body, .. } => writer.raw(body),
            _ => self.write_listed(writer),
        }
    }
}
