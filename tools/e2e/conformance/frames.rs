//! Frames that end the connection, and those that come in parts or together.

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use rstest_reuse::apply;
use tokio::net::TcpStream;
use tokio_util::codec::Framed;
use zklock_testkit::wire::{
    ConnectRequest, Create, CreateFlags, ErrorCode, MAX_FRAME, Opcode, Record, Request, RequestHeader,
    SetData, Writer, frames,
};

use crate::client::{Client, created};
use crate::on_both_kinds;
use crate::server::{Kind, Options, Server};

/// Returns a frame with this length, of which only the length is sent.
fn length(length: i32) -> Vec<u8> {
    length.to_be_bytes().into()
}

fn zeros(length: u8) -> Vec<u8> {
    [vec![0, 0, 0, length], vec![0; length.into()]].concat()
}

#[apply(on_both_kinds)]
async fn a_bad_request_ends_the_connection_but_not_the_session(server: Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    for opcode in [0, 10, 23, 99, 110, 12345, -2, i32::MAX, i32::MIN] {
        let unknown = Request::Unknown { opcode: Opcode(opcode), body: Bytes::new() };
        let reply = client.full(unknown).await;
        assert_eq!((reply.zxid, reply.outcome), (-1, Err(ErrorCode::UNIMPLEMENTED)), "{opcode}");
        client = assert_closed(client, &server).await;
    }
    client.send(Request::Unknown { opcode: Opcode::AUTH, body: Bytes::from_static(&[0; 6]) }).await.unwrap();
    client = assert_closed(client, &server).await;
    let too_long = i32::try_from(MAX_FRAME + 1).unwrap();
    for frame in [zeros(0), zeros(1), zeros(4), zeros(7), length(too_long), length(-1), length(i32::MIN)] {
        client.send_bytes(&frame).await.unwrap();
        client = assert_closed(client, &server).await;
    }
    let owner = client.stat(&server.path("/a")).await.unwrap().ephemeral_owner;
    assert_eq!(owner, client.session_id());
}

/// Waits for the end of the connection, and continues the session on another one.
async fn assert_closed(mut client: Client, server: &Server) -> Client {
    client.is_closed().await;
    Client::attach(server.address(), &client.abandon()).await
}

fn frame(xid: i32, request: &Request) -> Bytes {
    let mut frame = Writer::default();
    RequestHeader { xid, opcode: request.opcode() }.write(&mut frame);
    request.write(&mut frame);
    frame.finish()
}

#[apply(on_both_kinds)]
async fn a_request_may_come_byte_by_byte(server: Server) {
    let mut client = server.client().await;
    let frame = frame(77, &Request::Create(Create::new(server.path("/a"), "", CreateFlags::PERSISTENT)));
    let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
    client.watch_exists(&server.path("/a")).await.unwrap_err();
    for byte in length.into_iter().chain(frame) {
        client.send_bytes(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(client.event().await.unwrap(), created(server.path("/a")));
}

#[apply(on_both_kinds)]
async fn requests_may_come_with_the_greeting(server: Server) {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let mut stream = Framed::new(stream, frames(MAX_FRAME));
    stream.feed(ConnectRequest::default().to_bytes()).await.unwrap();
    for xid in 1..=300 {
        let exists = Request::Exists { path: "/".into(), watch: false };
        let sync = Request::Sync { path: "/".into() };
        stream.feed(frame(xid, if xid % 2 == 0 { &exists } else { &sync })).await.unwrap();
    }
    SinkExt::<Bytes>::flush(&mut stream).await.unwrap();
    stream.next().await.unwrap().unwrap();
    for xid in 1..=300_i32 {
        let frame: BytesMut = stream.next().await.unwrap().unwrap();
        assert_eq!(frame[..4], xid.to_be_bytes());
    }
}

/// Returns a request whose frame has this many bytes.
fn of_length(server: &Server, length: usize) -> Request {
    let set = |size| {
        let data = Some(Bytes::from(vec![b'x'; size]));
        Request::SetData(SetData { path: server.path(""), data, version: -1 })
    };
    set(length - frame(0, &set(0)).len())
}

#[apply(on_both_kinds)]
async fn the_largest_frame_is_taken(server: Server) {
    let mut client = server.client().await;
    client.ask(of_length(&server, MAX_FRAME)).await.unwrap();
}

#[apply(on_both_kinds)]
async fn the_largest_frame_can_be_set(server: Server) {
    let own = server.own(&Options { max_buffer: 2000, ..Options::default() });
    let mut client = own.client().await;
    client.make(&server.path("")).await;
    assert!(client.ask(of_length(&server, 2000)).await.is_ok());
    client.send(of_length(&server, 2001)).await.unwrap();
    client.is_closed().await;
}

/// Sends the first bytes of a connection, and returns the server's answer until it closes the connection.
async fn answer_to(server: &Server, bytes: &[u8]) -> Vec<u8> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset has also been closed.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

#[apply(on_both_kinds)]
async fn a_greeting_must_be_whole_and_not_too_long(server: Server) {
    let greeting = ConnectRequest::default().to_bytes();
    for end in [0, 4, greeting.len() - 2] {
        let length = u32::try_from(end).unwrap().to_be_bytes();
        let frame = [&length[..], &greeting[..end]].concat();
        assert_eq!(answer_to(&server, &frame).await, b"", "cut at {end}");
    }
    for bad in [i32::try_from(MAX_FRAME + 1).unwrap(), -1, i32::MIN, i32::MAX] {
        assert_eq!(answer_to(&server, &length(bad)).await, b"", "{bad}");
    }
}
