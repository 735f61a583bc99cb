use crate::wire::{ConnectResponse, ReplyHeader, Response, WatchEvent};

/// One connection of a client, for as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub(super) u64);

/// What is to be done for a connection, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// A message is to be sent.
    Send(ConnectionId, Message),
    /// The connection is to be closed once everything before this has been sent.
    Close(ConnectionId),
}

/// A frame that a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The first frame of a connection.
    Connected(ConnectResponse),
    /// An answer to a request.
    Reply(ReplyHeader, Response),
    /// An event of a watch.
    Event(ReplyHeader, WatchEvent),
}
