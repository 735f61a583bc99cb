//! The responses of servers.

use bytes::Bytes;

use super::{Acl, ClientInfo, Malformed, OpResult, Opcode, Reader, Record, Stat, Writer};

/// The body of a successful reply, after its header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response {
    /// No data: the response to a delete, a ping, an authentication, watches that are set again, and others.
    Empty,
    /// A path: the response to a create and a sync.
    Path(String),
    /// A path and a stat: the response to the newer creates.
    Created {
        /// The path, including any counter.
        path: String,
        /// The node's stat.
        stat: Stat,
    },
    /// A stat: the response to an exists and to changes of data and ACLs.
    Stat(Stat),
    /// Data and a stat.
    Data {
        /// The data.
        data: Option<Bytes>,
        /// The node's stat.
        stat: Stat,
    },
    /// An ACL and a stat.
    Acl {
        /// The ACL.
        acl: Vec<Acl>,
        /// The node's stat.
        stat: Stat,
    },
    /// The names of children.
    Children(Vec<String>),
    /// The names of children and a stat.
    Children2 {
        /// The names of the children, in no particular order.
        children: Vec<String>,
        /// The node's stat.
        stat: Stat,
    },
    /// The results of a multi or a multi-read. This is the only response that can report failures.
    Multi(Vec<OpResult>),
    /// Zero: the response to setting a persistent watch.
    Zero,
    /// The paths of ephemeral nodes.
    Ephemerals(Vec<String>),
    /// A number of nodes.
    Count(i32),
    /// The identities of a connection.
    WhoAmI(Vec<ClientInfo>),
    /// A part of a login by SASL; null if the server knows no users.
    Token(Option<Bytes>),
}

impl Response {
    /// Decodes the response to a request with the opcode `to`, from the bytes after the reply's header.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`] if the bytes do not encode such a response, or if bytes are left over.
    pub fn from_bytes(to: Opcode, body: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let response = Self::read(to, &mut reader)?;
        reader.end()?;
        Ok(response)
    }

    fn read(to: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(match to {
            Opcode::CREATE | Opcode::SYNC => Self::Path(reader.string()?),
            Opcode::CREATE2 | Opcode::CREATE_CONTAINER | Opcode::CREATE_TTL => {
                Self::Created { path: reader.string()?, stat: Stat::read(reader)? }
            }
            Opcode::EXISTS | Opcode::SET_DATA | Opcode::SET_ACL => Self::Stat(Stat::read(reader)?),
            Opcode::GET_DATA => Self::Data { data: reader.buffer()?, stat: Stat::read(reader)? },
            Opcode::GET_ACL => Self::Acl { acl: Record::read(reader)?, stat: Stat::read(reader)? },
            Opcode::GET_CHILDREN => Self::Children(Record::read(reader)?),
            Opcode::GET_CHILDREN2 => {
                Self::Children2 { children: Record::read(reader)?, stat: Stat::read(reader)? }
            }
            Opcode::MULTI | Opcode::MULTI_READ => Self::Multi(Record::read(reader)?),
            Opcode::ADD_WATCH => match reader.int()? {
                0 => Self::Zero,
                value => return Err(Malformed::Value { what: "answer to a watch", value }),
            },
            Opcode::GET_EPHEMERALS => Self::Ephemerals(Record::read(reader)?),
            Opcode::GET_ALL_CHILDREN_NUMBER => Self::Count(reader.int()?),
            Opcode::WHO_AM_I => Self::WhoAmI(Record::read(reader)?),
            Opcode::SASL => Self::Token(reader.buffer()?),
            _ => Self::Empty,
        })
    }

    /// Encodes the response, without its header.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            Self::Empty => {}
            Self::Path(path) => path.write(writer),
            Self::Created { path, stat } => {
                path.write(writer);
                stat.write(writer);
            }
            Self::Stat(stat) => stat.write(writer),
            Self::Data { data, stat } => {
                data.write(writer);
                stat.write(writer);
            }
            Self::Acl { acl, stat } => {
                acl.write(writer);
                stat.write(writer);
            }
            Self::Children(names) | Self::Ephemerals(names) => names.write(writer),
            Self::Children2 { children, stat } => {
                children.write(writer);
                stat.write(writer);
            }
            Self::Multi(results) => results.write(writer),
            Self::Zero => writer.int(0),
            Self::Count(count) => writer.int(*count),
            Self::WhoAmI(infos) => infos.write(writer),
            Self::Token(token) => token.write(writer),
        }
    }
}
