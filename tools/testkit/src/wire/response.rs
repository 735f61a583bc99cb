//! The responses of servers.

use bytes::Bytes;

use super::jute::variants;
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
    Created { path: String, stat: Stat },
    /// A stat: the response to an exists and to changes of data and ACLs.
    Stat(Stat),
    /// Data and a stat.
    Data { data: Option<Bytes>, stat: Stat },
    /// An ACL and a stat.
    Acl { acl: Vec<Acl>, stat: Stat },
    /// The names of children.
    Children(Vec<String>),
    /// The names of children, in no particular order, and a stat.
    Children2 { children: Vec<String>, stat: Stat },
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

variants!(Response {
    CREATE | SYNC => Path(path),
    CREATE2 | CREATE_CONTAINER | CREATE_TTL => Created { path, stat },
    EXISTS | SET_DATA | SET_ACL => Stat(stat),
    GET_DATA => Data { data, stat },
    GET_ACL => Acl { acl, stat },
    GET_CHILDREN => Children(names),
    GET_CHILDREN2 => Children2 { children, stat },
    MULTI | MULTI_READ => Multi(results),
    GET_EPHEMERALS => Ephemerals(paths),
    GET_ALL_CHILDREN_NUMBER => Count(count),
    WHO_AM_I => WhoAmI(infos),
    SASL => Token(token),
});

impl Response {
    /// Decodes the response to a request with the opcode `to`, from the bytes after the reply's header.
    pub fn from_bytes(to: Opcode, body: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let response = Self::read(to, &mut reader)?;
        reader.end()?;
        Ok(response)
    }

    pub(super) fn read(to: Opcode, reader: &mut Reader) -> Result<Self, Malformed> {
        match to {
            Opcode::ADD_WATCH => match reader.int()? {
                0 => Ok(Self::Zero),
                value => Err(Malformed::Value { what: "answer to a watch", value }),
            },
            _ => Ok(Self::read_listed(to, reader)?.unwrap_or(Self::Empty)),
        }
    }

    /// Encodes the response, without its header.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            Self::Zero => writer.int(0),
            _ => self.write_listed(writer),
        }
    }
}
