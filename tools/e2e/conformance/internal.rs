//! Requests that servers send to themselves, and do not refuse from a client.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_util::codec::Framed;
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, CreateFlags, ErrorCode, Frames, MAX_FRAME, Opcode, Record, ReplyHeader,
    Request, RequestHeader, Writer, frames,
};

use crate::case::cases;
use crate::client::{Client, refusal};
use crate::server::Server;

cases! {
    the_deletion_of_a_container_is_answered_and_the_connection_stays,
    a_new_session_is_answered_by_the_greeting_of_the_old_one,
    a_new_session_without_a_timeout_is_malformed,
    a_new_session_is_a_transaction,
    a_new_session_ends_the_old_one_after_its_timeout,
}

const SOON: Duration = Duration::from_secs(20);

/// Asks for the deletion of a container, with the path behind its length.
async fn delete_container(client: &mut Client, path: &str) -> Result<(), ErrorCode> {
    let mut body = Writer::default();
    body.string(path);
    let request = Request::Unknown { opcode: Opcode::DELETE_CONTAINER, body: body.finish() };
    client.ask(request).await.map(drop)
}

/// A server before 3.9 reads the header as part of the path, and refuses every path. Since 3.9, a server deletes
/// any node that has no child and no session, whoever asks.
async fn the_deletion_of_a_container_is_answered_and_the_connection_stays(server: &Server) {
    let mut client = server.client().await;
    let [container, ephemeral, parent] = ["/a", "/b", "/c"].map(|name| server.path(name));
    let create = zklock_testkit::wire::Create::new(&container, "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(create)).await.unwrap();
    client.make_as(&ephemeral, CreateFlags::EPHEMERAL).await;
    client.make(&parent).await;
    client.make(&format!("{parent}/child")).await;
    let (zxid, mut errors) = (client.zxid().await, Vec::new());
    for path in [&container, &ephemeral, &parent, &server.path("/no"), "no", "/zookeeper"] {
        errors.push(delete_container(&mut client, path).await.err());
    }
    let of_39 = [
        None,
        Some(ErrorCode::BAD_VERSION),
        Some(ErrorCode::NOT_EMPTY),
        Some(ErrorCode::NO_NODE),
        Some(ErrorCode::BAD_ARGUMENTS),
        Some(ErrorCode::BAD_ARGUMENTS),
    ];
    assert!(errors == of_39 || errors == [Some(ErrorCode::BAD_ARGUMENTS); 6], "{errors:?}");
    assert_eq!(client.stat(&container).await.is_err(), errors[0].is_none());
    assert!(client.stat(&ephemeral).await.is_ok() && client.stat(&parent).await.is_ok());
    assert!(client.zxid().await >= zxid + 6);
}

/// A connection whose frames are not decoded.
struct Raw {
    stream: Framed<TcpStream, Frames>,
    greeting: Bytes,
}

impl Raw {
    async fn open(server: &Server, request: &ConnectRequest) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let mut new = Self { stream: Framed::new(stream, frames(MAX_FRAME)), greeting: Bytes::new() };
        new.stream.send(request.to_bytes()).await.unwrap();
        new.greeting = new.frame().await;
        new
    }

    async fn frame(&mut self) -> Bytes {
        let frame: BytesMut = self.stream.next().await.unwrap().unwrap();
        frame.freeze()
    }

    async fn ask(&mut self, opcode: Opcode, body: &[u8]) -> Bytes {
        let mut frame = Writer::default();
        RequestHeader { xid: 7, opcode }.write(&mut frame);
        frame.raw(body);
        self.stream.send(frame.finish()).await.unwrap();
        self.frame().await
    }

    async fn zxid(&mut self) -> i64 {
        ReplyHeader::from_bytes(self.ask(Opcode::PING, &[]).await).unwrap().zxid
    }
}

async fn a_new_session_is_answered_by_the_greeting_of_the_old_one(server: &Server) {
    for read_only in [Some(false), None] {
        let mut raw = Raw::open(server, &ConnectRequest { read_only, ..ConnectRequest::default() }).await;
        let answer = raw.ask(Opcode::CREATE_SESSION, &77_777_i32.to_be_bytes()).await;
        assert_eq!(answer, raw.greeting);
        let session = ConnectResponse::from_bytes(answer).unwrap();
        assert!(session.session_id != 0 && session.timeout == 30_000, "{session:?}");
        let closed = ReplyHeader::from_bytes(raw.ask(Opcode::CLOSE_SESSION, &[]).await).unwrap();
        assert_eq!((closed.xid, closed.error), (7, ErrorCode::OK));
    }
}

async fn a_new_session_without_a_timeout_is_malformed(server: &Server) {
    let mut raw = Raw::open(server, &ConnectRequest::default()).await;
    let refused = ReplyHeader::from_bytes(raw.ask(Opcode::CREATE_SESSION, &[0; 3]).await).unwrap();
    assert_eq!((refused.xid, refused.error), (7, ErrorCode::MARSHALLING_ERROR));
}

async fn a_new_session_is_a_transaction(server: &Server) {
    let mut raw = Raw::open(server, &ConnectRequest::default()).await;
    let before = raw.zxid().await;
    raw.ask(Opcode::CREATE_SESSION, &30_000_i32.to_be_bytes()).await;
    assert!(raw.zxid().await > before);
}

async fn a_new_session_ends_the_old_one_after_its_timeout(server: &Server) {
    for timeout in [1_i32, 0] {
        let mut raw = Raw::open(server, &ConnectRequest::default()).await;
        raw.ask(Opcode::CREATE_SESSION, &timeout.to_be_bytes()).await;
        let end = tokio::time::timeout(SOON, raw.stream.next()).await.expect("the session ends");
        assert!(!matches!(end, Some(Ok(_))), "{timeout}: {end:?}");
        let session = ConnectResponse::from_bytes(raw.greeting).unwrap();
        refusal(server.address(), ConnectRequest::attach(&session)).await;
    }
}
