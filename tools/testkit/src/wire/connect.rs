//! The records that open a session or attach to one.

use bytes::Bytes;

use super::jute::records;
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

records!(ConnectRequest { protocol_version, last_zxid_seen, timeout, session_id, password, read_only });

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

records!(ConnectResponse { protocol_version, timeout, session_id, password, read_only });

/// A field at the end of a record, which old clients omit.
impl Record for Option<bool> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        (reader.remaining() > 0).then(|| reader.boolean()).transpose()
    }

    fn write(&self, writer: &mut Writer) {
        self.iter().for_each(|value| writer.boolean(*value));
    }
}
