//! The errors of a conversation.

use std::io::{self, ErrorKind};
use std::time::Duration;

use super::Reply;
use crate::wire::{ConnectResponse, Malformed};

/// An error of a conversation with a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The server does not know the session, or its password is a different one.
    #[error("the server knows no such session: {0:?}")]
    NoSession(ConnectResponse),

    /// The server has closed the connection.
    #[error("the server has closed the connection")]
    Closed,

    /// The server has closed the connection within a frame.
    #[error("the server has closed the connection within a frame")]
    CutOff,

    /// The server has not sent anything in time.
    #[error("the server has been silent for {0:?}")]
    Silent(Duration),

    /// An answer arrived while the caller waited for something else.
    #[error("received {0:?} while waiting for something else")]
    Unexpected(Box<Reply>),

    /// An answer arrived to a request that was not sent.
    #[error("received an answer to request {xid}, which was never sent")]
    Unasked {
        /// The number of the request.
        xid: i32,
    },

    /// The server sent a malformed frame.
    #[error(transparent)]
    Malformed(#[from] Malformed),

    /// The connection cannot be opened or used.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ConversationError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Self::Closed,
            // The codec has no other error of this kind.
            ErrorKind::Other => Self::CutOff,
            _ => Self::Io(error),
        }
    }
}
