use bytes::Bytes;

use crate::wire::{ConnectRequest, ConnectResponse};

/// Long enough for no session to expire in a test that does not want it.
const TIMEOUT: i32 = 30_000;

impl Default for ConnectRequest {
    /// Asks for a new session with a timeout of 30 s.
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
    /// Asks for a new session with such a timeout in milliseconds.
    pub fn with_timeout(timeout: i32) -> Self {
        Self { timeout, ..Self::default() }
    }

    /// Asks to be attached to a session, with the timeout that it has.
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
    /// What stands for a session before there is one.
    pub(super) fn none() -> Self {
        Self { protocol_version: 0, timeout: 0, session_id: 0, password: None, read_only: None }
    }
}
