//! A raw connection to a server, without the features of a client library.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::codec::Framed;

use crate::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Frames, Malformed, Opcode, Reader, Record, ReplyHeader,
    Request, RequestHeader, Response, WatchEvent, Writer, frames, xid,
};

/// The largest frame that a server may send, in bytes; the server's own limit is only for frames it receives.
const LARGEST_ANSWER: usize = 64 << 20;

/// The time limit for the next frame of a server.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A connection to a server, attached to a session.
///
/// It sends the caller's requests in order and does nothing on its own: it neither keeps the session alive
/// nor reconnects. Dropping it drops the connection, and leaves the session to its timeout.
///
/// A call fails with [`ConversationError::Closed`] if the server closes the connection, with
/// [`ConversationError::Silent`] if the server sends nothing for 20 s, with [`ConversationError::Unexpected`] if
/// another answer arrives than the one that the call waits for, and with the other variants if the connection cannot be
/// used or a frame is malformed. If the future of a call is dropped, its answer is still on its way, and a later call
/// fails with `Unexpected`; a part of the request may have been sent.
///
/// ```no_run
/// use zklock_testkit::wire::{Create, CreateFlags, Request};
/// use zklock_testkit::{Conversation, conversation::ConversationError};
///
/// # async fn example(server: std::net::SocketAddr) -> Result<(), ConversationError> {
/// let mut conversation = Conversation::open(server).await?;
/// let create = Create::new("/lock-", "", CreateFlags::EPHEMERAL_SEQUENTIAL);
/// println!("{:?}", conversation.call(Request::Create(create)).await?);
/// conversation.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Conversation {
    stream: Framed<TcpStream, Frames>,
    session: ConnectResponse,
    next_xid: i32,
    unanswered: Vec<RequestHeader>,
    /// Whether the server has answered a close.
    is_closing: bool,
    events: VecDeque<WatchEvent>,
}

impl Conversation {
    /// Connects and opens a session.
    pub async fn open(server: SocketAddr) -> Result<Self, ConversationError> {
        Self::connect(server, ConnectRequest::default()).await
    }

    /// Connects, and opens a session or attaches to one.
    ///
    /// # Errors
    ///
    /// Returns [`ConversationError::NoSession`] if the session has ended or the password is wrong, and
    /// [`ConversationError::Closed`] if the server refuses the request.
    pub async fn connect(server: SocketAddr, request: ConnectRequest) -> Result<Self, ConversationError> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let stream = Framed::new(stream, frames(LARGEST_ANSWER));
        // The answer has not arrived yet.
        let session = ConnectResponse::default();
        let (unanswered, events) = (Vec::new(), VecDeque::new());
        let mut new = Self { stream, session, next_xid: 1, unanswered, is_closing: false, events };
        new.stream.send(request.to_bytes()).await?;
        new.session = ConnectResponse::from_bytes(new.frame().await?)?;
        if new.session.session_id == 0 {
            return Err(ConversationError::NoSession(new.session));
        }
        Ok(new)
    }

    /// Returns the server's answer to the [`ConnectRequest`].
    pub fn session(&self) -> &ConnectResponse {
        &self.session
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> i64 {
        self.session.session_id
    }

    /// Sends a request without waiting for its answer, and returns its number.
    pub async fn send(&mut self, request: Request) -> Result<i32, ConversationError> {
        let header = self.header(request.opcode());
        let mut writer = Writer::default();
        header.write(&mut writer);
        request.write(&mut writer);
        self.unanswered.push(header);
        self.stream.send(writer.finish()).await?;
        Ok(header.xid)
    }

    /// Returns a header with the number that a client would use; only ordinary requests are counted.
    fn header(&mut self, opcode: Opcode) -> RequestHeader {
        let xid = match opcode {
            Opcode::PING => xid::PING,
            Opcode::AUTH => xid::AUTH,
            Opcode::SET_WATCHES | Opcode::SET_WATCHES2 => xid::SET_WATCHES,
            _ => self.next_xid,
        };
        if xid == self.next_xid {
            self.next_xid += 1;
        }
        RequestHeader { xid, opcode }
    }

    /// Sends bytes as they are, without a length in front of them.
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ConversationError> {
        Ok(self.stream.get_mut().write_all(bytes).await?)
    }

    /// Returns the next event that was set aside, or else waits for the next message from the server.
    pub async fn receive(&mut self) -> Result<Message, ConversationError> {
        match self.events.pop_front() {
            Some(event) => Ok(Message::Event(event)),
            None => self.message().await,
        }
    }

    /// Sends a request and waits for its answer; events that arrive first are set aside.
    pub async fn call(&mut self, request: Request) -> Result<Reply, ConversationError> {
        let xid = self.send(request).await?;
        self.reply(xid).await
    }

    /// Waits for the answer to a request that was sent; events that arrive first are set aside.
    pub async fn reply(&mut self, xid: i32) -> Result<Reply, ConversationError> {
        loop {
            match self.message().await? {
                Message::Event(event) => self.events.push_back(event),
                Message::Reply(reply) if reply.xid == xid => return Ok(reply),
                Message::Reply(reply) => return Err(ConversationError::Unexpected(Box::new(reply))),
            }
        }
    }

    /// Waits for an event.
    pub async fn event(&mut self) -> Result<WatchEvent, ConversationError> {
        match self.receive().await? {
            Message::Event(event) => Ok(event),
            Message::Reply(reply) => Err(ConversationError::Unexpected(Box::new(reply))),
        }
    }

    /// Returns all events caused by requests that were answered before this call, to any client.
    ///
    /// A server sends an event before it answers the request that caused it, and answers in order. After the
    /// answer to a ping, no event of an earlier request can therefore be on its way.
    pub async fn events(&mut self) -> Result<Vec<WatchEvent>, ConversationError> {
        self.call(Request::Ping).await?;
        Ok(self.events.drain(..).collect())
    }

    /// Waits until the server closes the connection, and returns the messages that arrived before.
    ///
    /// Behind the answer to a close, a part of a frame at the end is left out. ZooKeeper's `NIOServerCnxn` may end the
    /// connection within an event then, because it fills its buffer from the queue while that event is being added.
    ///
    /// # Errors
    ///
    /// Returns [`ConversationError::Silent`] if the server does not close it, and [`ConversationError::CutOff`] if it ends
    /// within a frame without an answer to a close.
    pub async fn until_closed(&mut self) -> Result<Vec<Message>, ConversationError> {
        let mut messages = Vec::new();
        loop {
            match self.receive().await {
                Ok(message) => messages.push(message),
                Err(ConversationError::Closed) => return Ok(messages),
                Err(ConversationError::CutOff) if self.is_closing => return Ok(messages),
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes the client's end of the connection, and leaves the session to its timeout.
    pub async fn disconnect(&mut self) -> Result<(), ConversationError> {
        Ok(self.stream.get_mut().shutdown().await?)
    }

    /// Drops the connection, and returns the session so that another connection can attach to it.
    pub fn abandon(self) -> ConnectResponse {
        self.session
    }

    /// Ends the session, and waits until the server has closed the connection.
    pub async fn close(mut self) -> Result<Reply, ConversationError> {
        let reply = self.call(Request::CloseSession).await?;
        match self.until_closed().await?.pop() {
            Some(Message::Reply(late)) => Err(ConversationError::Unexpected(Box::new(late))),
            _ => Ok(reply),
        }
    }

    async fn message(&mut self) -> Result<Message, ConversationError> {
        let mut reader = Reader::new(self.frame().await?);
        let header = ReplyHeader::read(&mut reader)?;
        if header.xid == xid::NOTIFICATION {
            let event = WatchEvent::read(&mut reader)?;
            reader.end()?;
            return Ok(Message::Event(event));
        }
        let outcome = self.outcome(header, reader)?;
        Ok(Message::Reply(Reply { xid: header.xid, zxid: header.zxid, outcome }))
    }

    fn outcome(
        &mut self,
        header: ReplyHeader,
        mut reader: Reader,
    ) -> Result<Result<Response, ErrorCode>, ConversationError> {
        let asked = self.unanswered.iter().position(|request| request.xid == header.xid);
        let opcode = asked.map(|asked| self.unanswered.remove(asked).opcode);
        self.is_closing |= opcode == Some(Opcode::CLOSE_SESSION);
        if header.error != ErrorCode::OK {
            // For a malformed multi-read, ZooKeeper sends the part of the answer that it already has.
            return Ok(Err(header.error));
        }
        let opcode = opcode.ok_or(ConversationError::Unasked { xid: header.xid })?;
        Ok(Ok(Response::from_bytes(opcode, reader.rest())?))
    }

    async fn frame(&mut self) -> Result<Bytes, ConversationError> {
        let frame = timeout(ANSWER_WITHIN, self.stream.next()).await;
        let frame: Option<io::Result<BytesMut>> =
            frame.map_err(|_| ConversationError::Silent(ANSWER_WITHIN))?;
        Ok(frame.ok_or(ConversationError::Closed)??.freeze())
    }
}

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
    #[allow(missing_docs, reason = "it is the number of the request")]
    Unasked { xid: i32 },

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
