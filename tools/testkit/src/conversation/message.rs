//! The messages of a server in a conversation.

use crate::wire::{ErrorCode, Response, WatchEvent};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the request.
    pub xid: i32,
    /// The last transaction that the server has applied.
    pub zxid: i64,
    /// The response, or the reason why the request failed.
    pub outcome: Result<Response, ErrorCode>,
}

/// A message from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The answer to a request.
    Reply(Reply),
    /// A watch event.
    Event(WatchEvent),
}
