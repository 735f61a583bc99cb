//! The records that open a session or attach to one.

use bytes::Bytes;

use super::{Malformed, Reader, Record, Writer};

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

impl Record for ConnectRequest {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            protocol_version: reader.int()?,
            last_zxid_seen: reader.long()?,
            timeout: reader.int()?,
            session_id: reader.long()?,
            password: reader.buffer()?,
            read_only: (reader.remaining() > 0).then(|| reader.boolean()).transpose()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.protocol_version);
        writer.long(self.last_zxid_seen);
        writer.int(self.timeout);
        writer.long(self.session_id);
        writer.buffer(self.password.as_deref());
        if let Some(read_only) = self.read_only {
            writer.boolean(read_only);
        }
    }
}

/// The answer to a [`ConnectRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectResponse {
    /// The version of the protocol, which is zero.
    pub protocol_version: i32,
    /// The negotiated session timeout in milliseconds; zero when the session has expired.
    pub timeout: i32,
    /// The id of the session; zero when the session has expired.
    pub session_id: i64,
    /// The session's password.
    pub password: Option<Bytes>,
    /// Whether the server has no quorum; present only if the request has its `read_only` field.
    pub read_only: Option<bool>,
}

impl Record for ConnectResponse {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            protocol_version: reader.int()?,
            timeout: reader.int()?,
            session_id: reader.long()?,
            password: reader.buffer()?,
            read_only: (reader.remaining() > 0).then(|| reader.boolean()).transpose()?,
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.int(self.protocol_version);
        writer.int(self.timeout);
        writer.long(self.session_id);
        writer.buffer(self.password.as_deref());
        if let Some(read_only) = self.read_only {
            writer.boolean(read_only);
        }
    }
}
