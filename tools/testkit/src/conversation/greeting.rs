//! The connections and the requests that open a conversation.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio_util::codec::Framed;

use crate::wire::{ConnectRequest, ConnectResponse, Frames, frames};

/// The largest frame that a server may send, in bytes; the server's own limit is only for frames it receives.
pub(super) const LARGEST_ANSWER: usize = 64 << 20;

/// The default session timeout in milliseconds, long enough that no session expires by accident in a test.
const TIMEOUT: i32 = 30_000;

/// Opens a connection.
pub(super) async fn dial(server: SocketAddr) -> io::Result<Framed<TcpStream, Frames>> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(Framed::new(stream, frames(LARGEST_ANSWER)))
}

impl Default for ConnectRequest {
    /// Requests a new session with a timeout of 30 s.
    fn default() -> Self {
        Self {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout: TIMEOUT,
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

impl ConnectResponse {
    /// Returns a placeholder for the answer that has not arrived yet.
    pub(super) fn none() -> Self {
        Self { protocol_version: 0, timeout: 0, session_id: 0, password: None, read_only: None }
    }
}
