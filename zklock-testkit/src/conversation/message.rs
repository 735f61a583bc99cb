use crate::wire::{ErrorCode, Response, WatchEvent};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the request.
    pub xid: i32,
    /// The last transaction that the server has applied.
    pub zxid: i64,
    /// What it answers.
    pub outcome: Result<Response, ErrorCode>,
}

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The answer to a request.
    Reply(Reply),
    /// What a watch has seen.
    Event(WatchEvent),
}
