//! One connection to a server, without anything that a client library adds.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::codec::Framed;

use crate::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Frames, Opcode, Reader, Record, ReplyHeader, Request,
    RequestHeader, Response, WatchEvent, Writer, frames, xid,
};

mod error;
mod greeting;
mod message;

pub use error::ConversationError;
pub use message::{Message, Reply};

/// A server that has not said anything for so long will not.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What a server may send in one frame; it limits only what it receives.
const LARGEST_ANSWER: usize = 64 << 20;

/// One connection to a server that is attached to a session.
///
/// It sends what it is told, in the order in which it is told, and does nothing on its own: it does not keep
/// the session alive, and it does not connect again. Dropping it drops the connection, and the session stays.
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
    events: VecDeque<WatchEvent>,
}

impl Conversation {
    /// Connects and opens a session.
    ///
    /// # Errors
    ///
    /// Those of [`connect`](Self::connect).
    pub async fn open(server: SocketAddr) -> Result<Self, ConversationError> {
        Self::connect(server, ConnectRequest::default()).await
    }

    /// Connects, and opens a session or attaches to one.
    ///
    /// # Errors
    ///
    /// [`ConversationError::NoSession`] when the session has ended or the password is another one;
    /// [`ConversationError::Closed`] when the server refuses the request.
    pub async fn connect(server: SocketAddr, request: ConnectRequest) -> Result<Self, ConversationError> {
        let stream = Self::dial(server).await?;
        let session = ConnectResponse::none();
        let mut new = Self { stream, session, next_xid: 1, unanswered: Vec::new(), events: VecDeque::new() };
        new.send_frame(request.to_bytes()).await?;
        new.session = ConnectResponse::from_bytes(new.frame().await?)?;
        if new.session.session_id == 0 {
            return Err(ConversationError::NoSession(new.session));
        }
        Ok(new)
    }

    async fn dial(server: SocketAddr) -> Result<Framed<TcpStream, Frames>, ConversationError> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Framed::new(stream, frames(LARGEST_ANSWER)))
    }

    /// What the server has said of the session.
    pub fn session(&self) -> &ConnectResponse {
        &self.session
    }

    /// The session's id.
    pub fn session_id(&self) -> i64 {
        self.session.session_id
    }

    /// Sends a request without waiting for its answer, and tells its number.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Closed`] when the server has closed the connection.
    pub async fn send(&mut self, request: Request) -> Result<i32, ConversationError> {
        let header = self.header(request.opcode());
        let mut writer = Writer::default();
        header.write(&mut writer);
        request.write(&mut writer);
        self.unanswered.push(header);
        self.send_frame(writer.finish()).await?;
        Ok(header.xid)
    }

    /// The numbers that clients use, which differ from one to the other for ordinary requests only.
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

    /// Sends a frame with any content.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Closed`] when the server has closed the connection.
    pub async fn send_frame(&mut self, content: Bytes) -> Result<(), ConversationError> {
        Ok(self.stream.send(content).await?)
    }

    /// Sends bytes as they are, without a length in front of them.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Closed`] when the server has closed the connection.
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ConversationError> {
        Ok(self.stream.get_mut().write_all(bytes).await?)
    }

    /// Waits for what the server sends next: an event that was put aside, or else what comes.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Closed`] when that is the end; [`ConversationError::Silent`] after 20 s.
    pub async fn receive(&mut self) -> Result<Message, ConversationError> {
        match self.events.pop_front() {
            Some(event) => Ok(Message::Event(event)),
            None => self.message().await,
        }
    }

    /// Sends a request and waits for its answer; events that come first are put aside.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Unexpected`] when another answer comes instead, and those of
    /// [`receive`](Self::receive).
    pub async fn call(&mut self, request: Request) -> Result<Reply, ConversationError> {
        let xid = self.send(request).await?;
        self.reply(xid).await
    }

    /// Waits for the answer to a request that was sent; events that come first are put aside.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Unexpected`] when another answer comes instead, and those of
    /// [`receive`](Self::receive).
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
    ///
    /// # Errors
    ///
    /// [`ConversationError::Unexpected`] when an answer comes instead, and those of [`receive`](Self::receive).
    pub async fn event(&mut self) -> Result<WatchEvent, ConversationError> {
        match self.receive().await? {
            Message::Event(event) => Ok(event),
            Message::Reply(reply) => Err(ConversationError::Unexpected(Box::new(reply))),
        }
    }

    /// Takes all events of what has happened so far: of all that was answered to whomever, before this call.
    ///
    /// A server sends an event before it answers the request that caused it, and answers in order; so after
    /// the answer to a ping no event of an earlier request can be on its way.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call).
    pub async fn events(&mut self) -> Result<Vec<WatchEvent>, ConversationError> {
        self.call(Request::Ping).await?;
        Ok(self.events.drain(..).collect())
    }

    /// Waits until the server closes the connection, and tells what it sent before.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Silent`] when it does not.
    pub async fn until_closed(&mut self) -> Result<Vec<Message>, ConversationError> {
        let mut messages = Vec::new();
        loop {
            match self.receive().await {
                Ok(message) => messages.push(message),
                Err(ConversationError::Closed) => return Ok(messages),
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes the client's end of the connection, and leaves the session to its timeout.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Closed`] when there is no connection any more.
    pub async fn disconnect(&mut self) -> Result<(), ConversationError> {
        Ok(self.stream.get_mut().shutdown().await?)
    }

    /// Drops the connection and leaves the session to its timeout, or to whoever attaches to it.
    pub fn abandon(self) -> ConnectResponse {
        self.session
    }

    /// Ends the session, and waits until the server has closed the connection.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call).
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
        if header.error != ErrorCode::OK {
            // ZooKeeper sends along what it had of the answer when a list of reads turns out to be malformed.
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
