use std::io::{self, ErrorKind};
use std::time::Duration;

use super::message::Reply;
use crate::wire::{ConnectResponse, Malformed};

/// Why a conversation cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The server does not know the session, or it has another password.
    #[error("the server knows no such session: {0:?}")]
    NoSession(ConnectResponse),

    /// The server has closed the connection.
    #[error("the server has closed the connection")]
    Closed,

    /// The server has not answered.
    #[error("the server has been silent for {0:?}")]
    Silent(Duration),

    /// An answer came while something else was waited for.
    #[error("something else was waited for than {0:?}")]
    Unexpected(Box<Reply>),

    /// An answer came to a request that was not sent.
    #[error("request {xid} was never sent")]
    Unasked {
        /// The number of the request.
        xid: i32,
    },

    /// The server sent what it must not.
    #[error(transparent)]
    Malformed(#[from] Malformed),

    /// The connection cannot be had or used.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ConversationError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Self::Closed,
            _ => Self::Io(error),
        }
    }
}
