use bytes::Bytes;

use super::{Malformed, Reader, Record, Writer};

/// The first frame of a connection: opens a session, or attaches to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// Zero.
    pub protocol_version: i32,
    /// The greatest zxid that the client has seen; a server that is behind it refuses.
    pub last_zxid_seen: i64,
    /// The session timeout that is asked for, in milliseconds.
    pub timeout: i32,
    /// The session to attach to, or zero for a new one.
    pub session_id: i64,
    /// The session's password, of 16 bytes.
    pub password: Option<Bytes>,
    /// Whether a server without a quorum will do; old clients do not say.
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
    /// Zero.
    pub protocol_version: i32,
    /// The negotiated session timeout in milliseconds; zero when the session has expired.
    pub timeout: i32,
    /// The session; zero when it has expired.
    pub session_id: i64,
    /// The session's password.
    pub password: Option<Bytes>,
    /// Whether the server has no quorum; told to those only who said what they want.
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
