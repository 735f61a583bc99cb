//! Frames that are truncated, too long, or malformed.

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_util::codec::Framed;
use zklock_testkit::conversation::{Message, Reply};
use zklock_testkit::wire::{
    Acl, ConnectRequest, Create, CreateFlags, ErrorCode, MAX_FRAME, Opcode, Record, Request, RequestHeader,
    Response, SetData, Stat, Writer, frames,
};

use crate::case::cases;
use crate::client::{Client, created};
use crate::server::{Options, Server};

cases! {
    an_unknown_request_is_answered_and_ends_the_connection,
    an_unknown_request_does_not_end_the_session,
    the_ensemble_is_not_changed,
    a_truncated_request_is_malformed,
    a_malformed_request_does_not_end_the_connection,
    a_null_path_is_malformed,
    a_null_acl_is_invalid,
    a_truncated_identity_ends_the_connection,
    a_truncated_header_ends_the_connection,
    what_is_too_much_is_ignored,
    a_request_may_come_byte_by_byte,
    requests_may_come_with_the_greeting,
    the_largest_frame_is_taken,
    a_larger_frame_ends_the_connection,
    the_largest_frame_can_be_set,
    a_path_that_is_no_text_is_bad,
    a_negative_length_ends_the_connection,
    a_greeting_must_be_whole,
    a_greeting_may_not_be_too_long,
    what_was_asked_is_answered_in_order,
    large_data_is_told,
}

fn unknown(opcode: i32) -> Request {
    Request::Unknown { opcode: Opcode(opcode), body: Bytes::new() }
}

async fn assert_unimplemented(client: &mut Client, request: Request) {
    let reply = client.full(request).await;
    assert_eq!((reply.zxid, reply.outcome), (-1, Err(ErrorCode::UNIMPLEMENTED)));
    client.is_closed().await;
}

async fn an_unknown_request_is_answered_and_ends_the_connection(server: &Server) {
    for opcode in [0, 10, 23, 99, 110, 12345, -2, i32::MAX, i32::MIN] {
        assert_unimplemented(&mut server.client().await, unknown(opcode)).await;
    }
}

async fn an_unknown_request_does_not_end_the_session(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    assert_unimplemented(&mut client, unknown(10)).await;
    let session = client.abandon();
    let mut client = Client::attach(server.address(), &session).await;
    assert_eq!(client.stat(&server.path("/a")).await.unwrap().ephemeral_owner, session.session_id);
}

async fn the_ensemble_is_not_changed(server: &Server) {
    let mut client = server.client().await;
    let mut body = Writer::default();
    for text in ["server.1=x:1:1", "", ""] {
        body.string(text);
    }
    body.long(-1);
    let request = Request::Unknown { opcode: Opcode::RECONFIG, body: body.finish() };
    assert_eq!(client.ask(request).await, Err(ErrorCode::RECONFIG_DISABLED));
}

/// Returns requests of every kind that has a body.
fn requests(server: &Server) -> Vec<Request> {
    let path = || server.path("/a");
    let create = || Create::new(path(), "", CreateFlags::PERSISTENT);
    vec![
        Request::Create(create()),
        Request::Create2(create()),
        Request::CreateContainer(create()),
        Request::CreateTtl { create: create(), ttl: 1 },
        Request::Delete(zklock_testkit::wire::Delete { path: path(), version: 0 }),
        Request::Exists { path: path(), watch: false },
        Request::GetData { path: path(), watch: false },
        Request::GetChildren { path: path(), watch: false },
        Request::GetChildren2 { path: path(), watch: false },
        Request::SetData(SetData { path: path(), data: None, version: 0 }),
        Request::GetAcl { path: path() },
        Request::Sync { path: path() },
        Request::Multi(vec![zklock_testkit::wire::Op::Create(create())]),
        Request::MultiRead(vec![zklock_testkit::wire::Op::GetData { path: path(), watch: false }]),
        Request::SetWatches(zklock_testkit::wire::SetWatches::default()),
        Request::SetWatches2(zklock_testkit::wire::SetWatches::default()),
        Request::AddWatch(zklock_testkit::wire::AddWatch { path: path(), mode: 0 }),
        Request::GetEphemerals { prefix: path() },
        Request::GetAllChildrenNumber { path: path() },
    ]
}

fn body(request: &Request) -> Bytes {
    let mut writer = Writer::default();
    request.write(&mut writer);
    writer.finish()
}

async fn a_truncated_request_is_malformed(server: &Server) {
    let mut client = server.client().await;
    for request in requests(server) {
        let (opcode, body) = (request.opcode(), body(&request));
        for end in [0, body.len() / 2, body.len() - 1] {
            let cut = Request::Unknown { opcode, body: body.slice(..end) };
            assert_eq!(client.ask(cut).await, Err(ErrorCode::MARSHALLING_ERROR), "{opcode} cut at {end}");
        }
    }
}

async fn a_malformed_request_does_not_end_the_connection(server: &Server) {
    let mut client = server.client().await;
    let cut = Request::Unknown { opcode: Opcode::CREATE, body: Bytes::new() };
    assert_eq!(client.ask(cut).await, Err(ErrorCode::MARSHALLING_ERROR));
    client.make(&server.path("/a")).await;
    assert_eq!(client.stat(&server.path("")).await.unwrap().cversion, 1);
}

async fn a_null_path_is_malformed(server: &Server) {
    let mut client = server.client().await;
    for opcode in [Opcode::CREATE, Opcode::CREATE2, Opcode::DELETE, Opcode::EXISTS, Opcode::GET_DATA] {
        let mut body = Writer::default();
        body.buffer(None);
        body.raw(&[0; 16]);
        let request = Request::Unknown { opcode, body: body.finish() };
        assert_eq!(client.ask(request).await, Err(ErrorCode::MARSHALLING_ERROR), "{opcode}");
    }
}

async fn a_null_acl_is_invalid(server: &Server) {
    let mut client = server.client().await;
    let mut body = Writer::default();
    body.string(&server.path("/a"));
    body.buffer(None);
    body.int(-1);
    body.int(0);
    let request = Request::Unknown { opcode: Opcode::CREATE, body: body.finish() };
    assert_eq!(client.ask(request).await, Err(ErrorCode::INVALID_ACL));
}

async fn a_truncated_identity_ends_the_connection(server: &Server) {
    let mut client = server.client().await;
    let cut = Request::Unknown { opcode: Opcode::AUTH, body: Bytes::from_static(&[0; 6]) };
    client.send(cut).await.unwrap();
    client.is_closed().await;
}

async fn a_truncated_header_ends_the_connection(server: &Server) {
    for length in [0, 1, 4, 7] {
        let mut client = server.client().await;
        client.send_frame(Bytes::from(vec![0; length])).await.unwrap();
        client.is_closed().await;
    }
}

async fn what_is_too_much_is_ignored(server: &Server) {
    let mut client = server.client().await;
    for request in requests(server) {
        let opcode = request.opcode();
        let more = [&body(&request)[..], b"and more"].concat();
        let answer = client.ask(Request::Unknown { opcode, body: more.into() }).await;
        assert_ne!(answer, Err(ErrorCode::MARSHALLING_ERROR), "{opcode}");
    }
    let more = Request::Unknown { opcode: Opcode::PING, body: Bytes::from_static(b"and more") };
    assert_eq!(client.ask(more).await, Ok(Response::Empty));
}

async fn a_request_may_come_byte_by_byte(server: &Server) {
    let mut client = server.client().await;
    let request = Request::Create(Create::new(server.path("/a"), "", CreateFlags::PERSISTENT));
    let mut frame = Writer::default();
    RequestHeader { xid: 77, opcode: Opcode::CREATE }.write(&mut frame);
    request.write(&mut frame);
    let frame = frame.finish();
    let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
    client.watch_exists(&server.path("/a")).await.unwrap_err();
    for byte in length.into_iter().chain(frame) {
        client.send_bytes(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(client.event().await.unwrap(), created(server.path("/a")));
}

async fn requests_may_come_with_the_greeting(server: &Server) {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let mut stream = Framed::new(stream, frames(MAX_FRAME));
    stream.feed(ConnectRequest::default().to_bytes()).await.unwrap();
    for xid in 1..=3 {
        let mut frame = Writer::default();
        RequestHeader { xid, opcode: Opcode::EXISTS }.write(&mut frame);
        Request::Exists { path: "/".into(), watch: false }.write(&mut frame);
        stream.feed(frame.finish()).await.unwrap();
    }
    SinkExt::<Bytes>::flush(&mut stream).await.unwrap();
    stream.next().await.unwrap().unwrap();
    for xid in 1..=3_i32 {
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
    let header = 8;
    set(length - header - body(&set(0)).len())
}

async fn the_largest_frame_is_taken(server: &Server) {
    let mut client = server.client().await;
    let answer = client.ask(of_length(server, MAX_FRAME)).await;
    assert!(matches!(answer, Ok(Response::Stat(Stat { version: 1, .. }))), "{answer:?}");
}

async fn a_larger_frame_ends_the_connection(server: &Server) {
    let mut client = server.client().await;
    // Only the length is sent, because the rest could not be written once the server has closed the
    // connection.
    let length = u32::try_from(MAX_FRAME + 1).unwrap();
    client.send_bytes(&length.to_be_bytes()).await.unwrap();
    client.is_closed().await;
    let session = client.abandon();
    Client::attach(server.address(), &session).await.close().await;
}

async fn the_largest_frame_can_be_set(server: &Server) {
    let own = server.own(&Options { max_buffer: 2000, ..Options::default() });
    let mut client = own.client().await;
    client.make(&server.path("")).await;
    assert!(client.ask(of_length(server, 2000)).await.is_ok());
    client.send(of_length(server, 2001)).await.unwrap();
    client.is_closed().await;
}

/// Bytes that are not UTF-8 become a character that no name may have.
async fn a_path_that_is_no_text_is_bad(server: &Server) {
    let mut client = server.client().await;
    let mut body = Writer::default();
    body.buffer(Some(&[server.path("/").as_bytes(), b"\xff"].concat()));
    body.buffer(None);
    body.vector(&[Acl::open()], |writer, line| line.write(writer));
    body.int(0);
    let request = Request::Unknown { opcode: Opcode::CREATE, body: body.finish() };
    assert_eq!(client.ask(request).await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn a_negative_length_ends_the_connection(server: &Server) {
    for length in [-1, i32::MIN] {
        let mut client = server.client().await;
        client.send_bytes(&length.to_be_bytes()).await.unwrap();
        client.is_closed().await;
    }
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

async fn a_greeting_must_be_whole(server: &Server) {
    let greeting = ConnectRequest::default().to_bytes();
    for end in [0, 4, greeting.len() - 2] {
        let length = u32::try_from(end).unwrap().to_be_bytes();
        let frame = [&length[..], &greeting[..end]].concat();
        assert_eq!(answer_to(server, &frame).await, b"", "cut at {end}");
    }
}

async fn a_greeting_may_not_be_too_long(server: &Server) {
    for length in [i32::try_from(MAX_FRAME + 1).unwrap(), -1, i32::MIN, i32::MAX] {
        assert_eq!(answer_to(server, &length.to_be_bytes()).await, b"", "{length}");
    }
}

async fn what_was_asked_is_answered_in_order(server: &Server) {
    let mut client = server.client().await;
    let mut sent = Vec::new();
    for number in 0..300 {
        let path = server.path(&format!("/{number}"));
        let request = match number % 4 {
            0 => Request::Create(Create::new(path, "", CreateFlags::PERSISTENT)),
            1 => Request::Exists { path, watch: false },
            2 => Request::Delete(zklock_testkit::wire::Delete { path, version: 0 }),
            _ => Request::Sync { path },
        };
        sent.push(client.send(request).await.unwrap());
    }
    let mut zxid = 0;
    for xid in sent {
        let Message::Reply(reply) = client.receive().await.unwrap() else { panic!("no event was asked for") };
        assert_eq!(reply.xid, xid);
        assert!(reply.zxid >= zxid);
        Reply { zxid, .. } = reply;
    }
}

async fn large_data_is_told(server: &Server) {
    let mut client = server.client().await;
    let data = "x".repeat(1_000_000);
    client.set(&server.path(""), &data).await.unwrap();
    let (told, stat) = client.data(&server.path("")).await.unwrap();
    assert_eq!((told.unwrap().len(), stat.data_length), (1_000_000, 1_000_000));
}
