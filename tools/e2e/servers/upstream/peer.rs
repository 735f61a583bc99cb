//! A server for the library that only opens sessions and answers pings.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::join;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::Framed;
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Frames, MAX_FRAME, Opcode, Reader, Record, ReplyHeader,
    RequestHeader, Writer, frames, xid,
};
use zookeeper_client as zk;

use crate::support::soon;

/// The session that a [`Peer`] opens first.
pub(super) const SESSION: zk::SessionId = zk::SessionId(1);

pub(super) struct Peer {
    listener: TcpListener,
    timeout: Duration,
}

impl Peer {
    /// Listens for clients, and grants each session this timeout.
    pub(super) async fn granting(timeout: Duration) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
        Self { listener, timeout }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Connects the library. It gives a silent server up after three fifths of the session timeout.
    pub(super) async fn connect(&self) -> (zk::Client, Connection) {
        let connector = zk::Client::connector().with_session_timeout(self.timeout);
        let connector = connector.with_connection_timeout(self.timeout * 3 / 5);
        let server = self.address().to_string();
        let accepting = async {
            let mut connection = self.accept().await;
            connection.attach(SESSION).await;
            connection.answer_ping().await;
            connection
        };
        let (client, connection) = soon(async { join!(connector.connect(&server), accepting) }).await;
        (client.expect("the peer opens a session"), connection)
    }

    pub(super) async fn accept(&self) -> Connection {
        let (stream, _) = soon(self.listener.accept()).await.unwrap();
        Connection { stream: Framed::new(stream, frames(MAX_FRAME)), timeout: self.timeout }
    }
}

pub(super) struct Connection {
    stream: Framed<TcpStream, Frames>,
    timeout: Duration,
}

impl Connection {
    /// Answers the first frame of the client: it has this session.
    pub(super) async fn attach(&mut self, session: zk::SessionId) {
        let frame = soon(self.stream.next()).await.expect("the client sends").unwrap();
        let request = ConnectRequest::from_bytes(frame.freeze()).unwrap();
        let response = ConnectResponse {
            protocol_version: 0,
            timeout: self.timeout.as_millis().try_into().unwrap(),
            session_id: session.0,
            password: Some(vec![1; 16].into()),
            read_only: request.read_only.map(|_| false),
        };
        self.stream.send(response.to_bytes()).await.unwrap();
    }

    pub(super) async fn answer_ping(&mut self) {
        soon(self.stream.next()).await.expect("the client sends").unwrap();
        let header = ReplyHeader { xid: xid::PING, zxid: 0, error: ErrorCode::OK };
        self.stream.send(header.to_bytes()).await.unwrap();
    }

    /// Returns the number of the next request, which is not a ping.
    pub(super) async fn request(&mut self) -> i32 {
        loop {
            let frame = soon(self.stream.next()).await.expect("the client sends").unwrap();
            let header = RequestHeader::read(&mut Reader::new(frame.freeze())).unwrap();
            if header.xid != xid::PING {
                return header.xid;
            }
        }
    }

    /// Answers the client's next request with a part of a login.
    pub(super) async fn challenge(&mut self, token: &[u8]) {
        let xid = self.request().await;
        let mut answer = Writer::default();
        ReplyHeader { xid, zxid: 0, error: ErrorCode::OK }.write(&mut answer);
        answer.buffer(Some(token));
        self.send(answer.finish()).await;
    }

    /// Reads the token of the client's next request, which is a part of a login.
    pub(super) async fn token(&mut self) -> Bytes {
        loop {
            let frame = soon(self.stream.next()).await.expect("the client sends").unwrap();
            let mut reader = Reader::new(frame.freeze());
            if RequestHeader::read(&mut reader).unwrap().opcode == Opcode::SASL {
                return reader.buffer().unwrap().expect("the token is not null");
            }
        }
    }

    /// Sends a frame with this content.
    pub(super) async fn send(&mut self, content: Bytes) {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        let stream = self.stream.get_mut();
        stream.write_all(&[&length[..], &content].concat()).await.expect("the client reads");
    }
}
