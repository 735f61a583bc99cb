//! The outputs of the model.

use crate::wire::{ConnectResponse, ReplyHeader, Response, WatchEvent};

/// The id of a connection, which no other connection of the same model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub(super) u64);

/// An action on a connection, to be performed in the order of the outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Send a message.
    Send(ConnectionId, Message),
    /// Close the connection after all earlier messages have been sent.
    Close(ConnectionId),
}

/// A frame that a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The first frame of a connection.
    Connected(ConnectResponse),
    /// The reply to a request.
    Reply(ReplyHeader, Response),
    /// A watch event.
    Event(ReplyHeader, WatchEvent),
}
