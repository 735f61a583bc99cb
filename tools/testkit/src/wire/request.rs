//! The requests of clients.

use bytes::Bytes;

use super::{
    AddWatch, CheckVersion, Create, Delete, Malformed, Op, Opcode, Reader, Record, SetAcl, SetData,
    SetWatches, WatcherType, Writer, multi,
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
    /// [`Opcode::CREATE_TTL`].
    CreateTtl {
        /// The node.
        create: Create,
        /// The time to live after the last change, in milliseconds.
        ttl: i64,
    },
    /// [`Opcode::DELETE`].
    Delete(Delete),
    /// [`Opcode::EXISTS`].
    Exists {
        /// The node.
        path: String,
        /// Whether to set a data watch, or an exist watch if the node does not exist.
        watch: bool,
    },
    /// [`Opcode::GET_DATA`].
    GetData {
        /// The node.
        path: String,
        /// Whether to set a data watch.
        watch: bool,
    },
    /// [`Opcode::SET_DATA`].
    SetData(SetData),
    /// [`Opcode::GET_ACL`].
    GetAcl {
        /// The node.
        path: String,
    },
    /// [`Opcode::SET_ACL`].
    SetAcl(SetAcl),
    /// [`Opcode::GET_CHILDREN`].
    GetChildren {
        /// The node.
        path: String,
        /// Whether to set a child watch.
        watch: bool,
    },
    /// [`Opcode::GET_CHILDREN2`].
    GetChildren2 {
        /// The node.
        path: String,
        /// Whether to set a child watch.
        watch: bool,
    },
    /// [`Opcode::SYNC`].
    Sync {
        /// Any path; the server only returns it.
        path: String,
    },
    /// [`Opcode::CHECK`], which servers support only within a multi.
    Check(CheckVersion),
    /// [`Opcode::MULTI`].
    Multi(Vec<Op>),
    /// [`Opcode::MULTI_READ`].
    MultiRead(Vec<Op>),
    /// [`Opcode::PING`].
    Ping,
    /// [`Opcode::AUTH`].
    Auth {
        /// The scheme of the identity.
        scheme: String,
        /// The proof of the identity.
        auth: Option<Bytes>,
    },
    /// [`Opcode::SET_WATCHES`], without persistent watches.
    SetWatches(SetWatches),
    /// [`Opcode::SET_WATCHES2`].
    SetWatches2(SetWatches),
    /// [`Opcode::ADD_WATCH`].
    AddWatch(AddWatch),
    /// [`Opcode::CHECK_WATCHES`].
    CheckWatches {
        /// The node.
        path: String,
        /// The kind of the watches.
        kind: WatcherType,
    },
    /// [`Opcode::REMOVE_WATCHES`].
    RemoveWatches {
        /// The node.
        path: String,
        /// The kind of the watches.
        kind: WatcherType,
    },
    /// [`Opcode::GET_EPHEMERALS`].
    GetEphemerals {
        /// The prefix of the paths to return.
        prefix: String,
    },
    /// [`Opcode::GET_ALL_CHILDREN_NUMBER`].
    GetAllChildrenNumber {
        /// The node.
        path: String,
    },
    /// [`Opcode::WHO_AM_I`].
    WhoAmI,
    /// [`Opcode::CLOSE_SESSION`].
    CloseSession,
    /// A request with any other opcode.
    Unknown {
        /// The opcode.
        opcode: Opcode,
        /// The rest of the frame.
        body: Bytes,
    },
}

impl Request {
    /// Returns the opcode for the header of this request.
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Create(_) => Opcode::CREATE,
            Self::Create2(_) => Opcode::CREATE2,
            Self::CreateContainer(_) => Opcode::CREATE_CONTAINER,
            Self::CreateTtl { .. } => Opcode::CREATE_TTL,
            Self::Delete(_) => Opcode::DELETE,
            Self::Exists { .. } => Opcode::EXISTS,
            Self::GetData { .. } => Opcode::GET_DATA,
            Self::SetData(_) => Opcode::SET_DATA,
            Self::GetAcl { .. } => Opcode::GET_ACL,
            Self::SetAcl(_) => Opcode::SET_ACL,
            Self::GetChildren { .. } => Opcode::GET_CHILDREN,
            Self::GetChildren2 { .. } => Opcode::GET_CHILDREN2,
            Self::Sync { .. } => Opcode::SYNC,
            Self::Check(_) => Opcode::CHECK,
            Self::Multi(_) => Opcode::MULTI,
            Self::MultiRead(_) => Opcode::MULTI_READ,
            Self::Ping => Opcode::PING,
            Self::Auth { .. } => Opcode::AUTH,
            Self::SetWatches(_) => Opcode::SET_WATCHES,
            Self::SetWatches2(_) => Opcode::SET_WATCHES2,
            Self::AddWatch(_) => Opcode::ADD_WATCH,
            Self::CheckWatches { .. } => Opcode::CHECK_WATCHES,
            Self::RemoveWatches { .. } => Opcode::REMOVE_WATCHES,
            Self::GetEphemerals { .. } => Opcode::GET_EPHEMERALS,
            Self::GetAllChildrenNumber { .. } => Opcode::GET_ALL_CHILDREN_NUMBER,
            Self::WhoAmI => Opcode::WHO_AM_I,
            Self::CloseSession => Opcode::CLOSE_SESSION,
            Self::Unknown { opcode, .. } => *opcode,
        }
    }

    /// Decodes a request after its header. Like a server, it ignores any bytes that follow the request.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`] if the bytes do not encode such a request.
    pub fn read(opcode: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(match opcode {
            Opcode::CREATE => Self::Create(Create::read(reader)?),
            Opcode::CREATE2 => Self::Create2(Create::read(reader)?),
            Opcode::CREATE_CONTAINER => Self::CreateContainer(Create::read(reader)?),
            Opcode::CREATE_TTL => Self::CreateTtl { create: Create::read(reader)?, ttl: reader.long()? },
            Opcode::DELETE => Self::Delete(Delete::read(reader)?),
            Opcode::EXISTS => Self::Exists { path: reader.string()?, watch: reader.boolean()? },
            Opcode::GET_DATA => Self::GetData { path: reader.string()?, watch: reader.boolean()? },
            Opcode::SET_DATA => Self::SetData(SetData::read(reader)?),
            Opcode::GET_ACL => Self::GetAcl { path: reader.string()? },
            Opcode::SET_ACL => Self::SetAcl(SetAcl::read(reader)?),
            Opcode::GET_CHILDREN => Self::GetChildren { path: reader.string()?, watch: reader.boolean()? },
            Opcode::GET_CHILDREN2 => Self::GetChildren2 { path: reader.string()?, watch: reader.boolean()? },
            Opcode::SYNC => Self::Sync { path: reader.string()? },
            Opcode::CHECK => Self::Check(CheckVersion::read(reader)?),
            Opcode::MULTI => Self::Multi(multi::read_ops(reader)?),
            Opcode::MULTI_READ => Self::MultiRead(multi::read_ops(reader)?),
            _ => Self::read_about_sessions(opcode, reader)?,
        })
    }

    /// Decodes the remaining requests, most of which concern the session and its watches.
    fn read_about_sessions(opcode: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(match opcode {
            Opcode::PING => Self::Ping,
            Opcode::AUTH => {
                reader.int()?;
                // A server knows a scheme that is null as little as one that is empty.
                let scheme = reader.nullable_string()?.unwrap_or_default();
                Self::Auth { scheme, auth: reader.buffer()? }
            }
            Opcode::SET_WATCHES => Self::SetWatches(SetWatches::read_first(reader)?),
            Opcode::SET_WATCHES2 => Self::SetWatches2(SetWatches::read(reader)?),
            Opcode::ADD_WATCH => Self::AddWatch(AddWatch::read(reader)?),
            Opcode::CHECK_WATCHES => {
                Self::CheckWatches { path: reader.string()?, kind: WatcherType::read(reader)? }
            }
            Opcode::REMOVE_WATCHES => {
                Self::RemoveWatches { path: reader.string()?, kind: WatcherType::read(reader)? }
            }
            Opcode::GET_EPHEMERALS => Self::GetEphemerals { prefix: reader.string()? },
            Opcode::GET_ALL_CHILDREN_NUMBER => Self::GetAllChildrenNumber { path: reader.string()? },
            Opcode::WHO_AM_I => Self::WhoAmI,
            Opcode::CLOSE_SESSION => Self::CloseSession,
            _ => Self::Unknown { opcode, body: reader.rest() },
        })
    }

    /// Encodes the request, without its header.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            Self::Create(create) | Self::Create2(create) | Self::CreateContainer(create) => {
                create.write(writer);
            }
            Self::CreateTtl { create, ttl } => {
                create.write(writer);
                writer.long(*ttl);
            }
            Self::Delete(delete) => delete.write(writer),
            Self::Exists { path, watch }
            | Self::GetData { path, watch }
            | Self::GetChildren { path, watch }
            | Self::GetChildren2 { path, watch } => {
                writer.string(path);
                writer.boolean(*watch);
            }
            Self::SetData(set) => set.write(writer),
            Self::SetAcl(set) => set.write(writer),
            Self::GetAcl { path }
            | Self::Sync { path }
            | Self::GetEphemerals { prefix: path }
            | Self::GetAllChildrenNumber { path } => writer.string(path),
            Self::Check(check) => check.write(writer),
            Self::Multi(ops) | Self::MultiRead(ops) => multi::write_ops(ops, writer),
            Self::Auth { scheme, auth } => {
                writer.int(0);
                writer.string(scheme);
                writer.buffer(auth.as_deref());
            }
            Self::SetWatches(watches) => watches.write_first(writer),
            Self::SetWatches2(watches) => watches.write(writer),
            Self::AddWatch(add) => add.write(writer),
            Self::CheckWatches { path, kind } | Self::RemoveWatches { path, kind } => {
                writer.string(path);
                kind.write(writer);
            }
            Self::Ping | Self::WhoAmI | Self::CloseSession => {}
            Self::Unknown { body, .. } => writer.raw(body),
        }
    }
}
