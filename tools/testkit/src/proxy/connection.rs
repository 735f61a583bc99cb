//! The relay between one connection of a client and the proxy's connection to the server, and what they say to each
//! other, which determines the kind of each frame.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;

use super::rule::{Answer, Fault, How, Kind};
use super::state::{Cut, State};
use super::stream::{Inlet, Outlet, Parcel, codec};
use crate::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Malformed, Opcode, Reader, Record, ReplyHeader,
    RequestHeader, xid,
};

/// Serves a client until it and the server have gone.
pub(super) async fn serve(state: Arc<State>, client: TcpStream) {
    let Some((number, cut)) = state.admit() else {
        return close(client, How::Rst).await;
    };
    let connection = Connection { state, number, cut, conversation: Mutex::default() };
    connection.serve(client).await;
    connection.state.leave(connection.number);
}

struct Connection {
    state: Arc<State>,
    number: u64,
    cut: Arc<Cut>,
    conversation: Mutex<Conversation>,
}

impl Connection {
    async fn serve(&self, mut client: TcpStream) {
        let opened = tokio::select! {
            biased;
            how = self.cut.wait() => Err(*how),
            opened = self.open(&mut client) => opened,
        };
        let (mut server, early) = match opened {
            Ok(opened) => opened,
            Err(how) => return close(client, how).await,
        };
        let is_raw = self.state.is_raw || is_word(&early);
        let (to_server, mut requests) = unbounded_channel();
        let (to_client, mut replies) = unbounded_channel();
        let client_side = async move {
            let (reader, writer) = client.split();
            let inlet = Inlet { stream: reader, codec: codec(is_raw), buffer: early };
            let link = self.state.link.subscribe();
            let outlet = Outlet { stream: writer, is_raw, link, lane: |link| link.to_client };
            let judge = |body: &Bytes| if is_raw { Ok(None) } else { self.judge_request(body) };
            let receive = async {
                inlet.receive(&to_server, judge).await;
                self.state.attach(self.number, None);
                Ok(())
            };
            let ended = tokio::select! {
                biased;
                how = self.cut.wait() => Err(*how),
                ended = async { tokio::try_join!(receive, outlet.deliver(&mut replies)) } => ended,
            };
            self.state.leave(self.number);
            if let Err(how) = ended {
                // Frames on their way to the server still arrive, followed by this end.
                let _ = to_server.send((tokio::time::Instant::now(), Parcel::end(how)));
                close(client, how).await;
            }
        };
        let server_side = async move {
            let (reader, writer) = server.split();
            let inlet = Inlet { stream: reader, codec: codec(is_raw), buffer: BytesMut::new() };
            let link = self.state.link.subscribe();
            let outlet = Outlet { stream: writer, is_raw, link, lane: |link| link.to_server };
            let judge = |body: &Bytes| if is_raw { Ok(None) } else { self.judge_answer(body) };
            let receive = async {
                inlet.receive(&to_client, judge).await;
                Ok(())
            };
            let ended = tokio::try_join!(receive, outlet.deliver(&mut requests));
            if let Err(how) = ended {
                // The client may have been cut off before.
                let _ = self.cut.set(how);
                close(server, how).await;
            }
        };
        tokio::join!(client_side, server_side);
    }

    /// Waits until the link is not blackholed, connects to the server, and waits for enough bytes to
    /// recognize a four-letter word, if the client speaks the protocol.
    ///
    /// The server never sees a client that leaves while the link is blackholed.
    async fn open(&self, client: &mut TcpStream) -> Result<(TcpStream, BytesMut), How> {
        let (mut link, mut early) = (self.state.link.subscribe(), BytesMut::new());
        loop {
            tokio::select! {
                biased;
                _ = link.wait_for(|link| !link.is_blackholed()) => break,
                read = client.read_buf(&mut early) => some(read)?,
            }
        }
        let server = TcpStream::connect(self.state.server).await.map_err(|_| How::Rst)?;
        // This keeps the proxy from adding a delay of its own. Without it, nothing else goes wrong.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        while !self.state.is_raw && early.len() < WORD {
            some(client.read_buf(&mut early).await)?;
        }
        Ok((server, early))
    }

    fn judge_request(&self, body: &Bytes) -> Result<Option<Fault>, Malformed> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = conversation.hear_client(body)?;
        let fault = self.state.judge(Kind::Request(asked.opcode));
        if !matches!(fault, Some(Fault::Discard)) {
            conversation.expect(asked);
        }
        Ok(fault)
    }

    fn judge_answer(&self, body: &Bytes) -> Result<Option<Fault>, Malformed> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, session) = conversation.hear_server(body)?;
        if let Some(session) = session {
            self.state.attach(self.number, Some(session).filter(|&session| session != 0));
        }
        Ok(self.state.judge(kind))
    }
}

/// The number of bytes that distinguish a four-letter word from the length of a frame.
const WORD: usize = 4;

/// Returns whether these first bytes are a four-letter word; read as a length, they would exceed any frame.
fn is_word(bytes: &[u8]) -> bool {
    bytes[..WORD].iter().all(u8::is_ascii_alphabetic)
}

/// Fails if the stream has ended or cannot be read.
fn some(read: std::io::Result<usize>) -> Result<(), How> {
    match read {
        Ok(0) => Err(How::Fin),
        Ok(_) => Ok(()),
        Err(_) => Err(How::Rst),
    }
}

async fn close(mut stream: TcpStream, how: How) {
    match how {
        // This fails only if the other end has already reset the connection.
        How::Rst => drop(stream.set_zero_linger()),
        How::Fin => {
            let _ = stream.shutdown().await;
            // A socket closed with unread bytes sends a reset, which may overtake the end of the stream.
            let _ = copy(&mut stream, &mut sink()).await;
        }
    }
}

/// The requests of one connection that wait for their replies.
#[derive(Debug, Default)]
struct Conversation {
    /// Whether the client has requested a session.
    has_greeted: bool,
    pending: VecDeque<Asked>,
}

/// The properties that identify a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    opcode: Opcode,
    /// The number; `None` for the request for a session.
    xid: Option<i32>,
}

impl Conversation {
    /// Decodes a frame from the client.
    fn hear_client(&mut self, body: &Bytes) -> Result<Asked, Malformed> {
        if !self.has_greeted {
            ConnectRequest::from_bytes(body.clone())?;
            self.has_greeted = true;
            return Ok(Asked { opcode: Opcode::CREATE_SESSION, xid: None });
        }
        let RequestHeader { xid, opcode } = RequestHeader::read(&mut Reader::new(body.clone()))?;
        Ok(Asked { opcode, xid: Some(xid) })
    }

    /// Remembers a request that the server will answer.
    fn expect(&mut self, asked: Asked) {
        self.pending.push_back(asked);
    }

    /// Decodes a frame from the server. Returns its kind, and the session in the answer to the request for one, which is
    /// zero if the session has expired.
    fn hear_server(&mut self, body: &Bytes) -> Result<(Kind, Option<i64>), Malformed> {
        if let Some(Asked { opcode, xid: None }) = self.pending.front().copied() {
            let response = ConnectResponse::from_bytes(body.clone())?;
            self.pending.pop_front();
            return Ok((Kind::Reply(opcode, Answer::Other), Some(response.session_id)));
        }
        let header = ReplyHeader::read(&mut Reader::new(body.clone()))?;
        let kind = match header.xid {
            xid::NOTIFICATION => Kind::Notification,
            xid => match self.answered(xid) {
                Some(opcode) if header.error != ErrorCode::OK => Kind::Reply(opcode, Answer::Refusal),
                Some(opcode) if tells_of_a_node(opcode, body) => Kind::Reply(opcode, Answer::Created),
                Some(opcode) => Kind::Reply(opcode, Answer::Other),
                None => Kind::Unasked,
            },
        };
        Ok((kind, None))
    }

    /// Forgets the oldest request with this number. Pings and some other requests share a number.
    fn answered(&mut self, xid: i32) -> Option<Opcode> {
        let position = self.pending.iter().position(|asked| asked.xid == Some(xid))?;
        self.pending.remove(position).map(|asked| asked.opcode)
    }
}

/// Returns whether the reply to a request with this opcode, which succeeded, tells of a new node.
fn tells_of_a_node(opcode: Opcode, body: &[u8]) -> bool {
    // Behind the header of the reply, the answer to a transaction has the opcode of its first step, or -1.
    const FIRST: std::ops::Range<usize> = 16..20;
    const CREATES: [Opcode; 3] = [Opcode::CREATE, Opcode::CREATE2, Opcode::CREATE_CONTAINER];
    let first = body.get(FIRST).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    match opcode {
        Opcode::MULTI => first.is_some_and(|first| CREATES.contains(&Opcode(first))),
        opcode => opcode == Opcode::CREATE2,
    }
}
