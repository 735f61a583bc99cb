//! A client that sends and receives frames, and does nothing on its own.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::codec::{Decoder, Encoder};
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, Create, CreateFlags, ErrorCode, Frames, Opcode, Reader, Record,
    ReplyHeader, Request, RequestHeader, Response, Writer, frames, xid,
};

/// The longest wait for an event that must happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The values that a client needs to come back to its session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: i64,
    pub(crate) password: Bytes,
}

/// The frames of one end of a connection.
pub(crate) struct Framed {
    pub(crate) stream: TcpStream,
    frames: Frames,
    buffer: BytesMut,
}

impl Framed {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, frames: frames(64 << 20), buffer: BytesMut::new() }
    }

    pub(crate) async fn send(&mut self, body: Bytes) -> io::Result<()> {
        let mut frame = BytesMut::new();
        self.frames.encode(body, &mut frame)?;
        self.stream.write_all(&frame).await
    }

    /// Returns the next frame, or `None` at the end of the stream.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(body) = self.frames.decode(&mut self.buffer)? {
                return Ok(Some(body.freeze()));
            }
            let read = timeout(SOON, self.stream.read_buf(&mut self.buffer));
            if read.await.expect("something arrives")? == 0 {
                return Ok(None);
            }
        }
    }
}

/// One connection of a session.
pub(crate) struct Client {
    pub(crate) wire: Framed,
    pub(crate) session: Session,
    next_xid: i32,
}

impl Client {
    /// Opens a session.
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self::attach(address, &Session { id: 0, password: vec![0; 16].into() }).await.unwrap().unwrap()
    }

    /// Connects to a session, or returns how the connection ended.
    pub(crate) async fn attach(address: SocketAddr, session: &Session) -> io::Result<Option<Self>> {
        let mut wire = Framed::new(TcpStream::connect(address).await?);
        wire.send(connect_request(session).to_bytes()).await?;
        let Some(body) = wire.receive().await? else { return Ok(None) };
        let response = ConnectResponse::from_bytes(body).unwrap();
        let session = Session { id: response.session_id, password: response.password.unwrap() };
        Ok(Some(Self { wire, session, next_xid: 1 }))
    }

    /// Sends a request, and returns its xid.
    pub(crate) async fn send(&mut self, request: &Request) -> i32 {
        let xid = if *request == Request::Ping { xid::PING } else { self.next_xid };
        self.next_xid += 1;
        self.wire.send(request_frame(xid, request)).await.unwrap();
        xid
    }

    /// Returns the header of the next reply or event, and its body.
    pub(crate) async fn reply(&mut self) -> (ReplyHeader, Bytes) {
        let mut reader = Reader::new(self.wire.receive().await.unwrap().expect("the connection goes on"));
        (ReplyHeader::read(&mut reader).unwrap(), reader.rest())
    }

    /// Sends a request, and waits for its answer, which must be the next frame.
    pub(crate) async fn ask(&mut self, request: Request) -> Result<Response, ErrorCode> {
        let xid = self.send(&request).await;
        let (header, body) = self.reply().await;
        assert_eq!(header.xid, xid);
        match header.error {
            ErrorCode::OK => Ok(Response::from_bytes(request.opcode(), body).unwrap()),
            error => Err(error),
        }
    }

    pub(crate) async fn exists(&mut self, path: &str) -> bool {
        match self.ask(exists(path)).await {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error, ErrorCode::NO_NODE);
                false
            }
        }
    }

    /// Polls until the node exists.
    pub(crate) async fn wait_for(&mut self, path: &str) {
        let wait = async {
            while !self.exists(path).await {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, wait).await.expect("the node is created");
    }

    /// Returns how the connection ends. No frame may come before its end.
    pub(crate) async fn end(&mut self) -> Result<(), io::ErrorKind> {
        match self.wire.receive().await {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => panic!("another frame came: {frame:?}"),
            Err(error) => Err(error.kind()),
        }
    }
}

pub(crate) fn connect_request(session: &Session) -> ConnectRequest {
    ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout: 30_000,
        session_id: session.id,
        password: Some(session.password.clone()),
        read_only: Some(false),
    }
}

pub(crate) fn request_frame(xid: i32, request: &Request) -> Bytes {
    let mut writer = Writer::default();
    RequestHeader { xid, opcode: request.opcode() }.write(&mut writer);
    request.write(&mut writer);
    writer.finish()
}

pub(crate) fn create(path: &str) -> Request {
    Request::Create(Create::new(path, Bytes::new(), CreateFlags::EPHEMERAL))
}

pub(crate) fn exists(path: &str) -> Request {
    Request::Exists { path: path.to_owned(), watch: false }
}

/// The opcode of [`create`].
pub(crate) const CREATE: Opcode = Opcode::CREATE;
