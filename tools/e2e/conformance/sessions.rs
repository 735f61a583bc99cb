//! Sessions begin, move from connection to connection, and end.

use std::time::{Duration, Instant};

use bytes::Bytes;
use rstest_reuse::apply;
use zklock_testkit::conversation::{ConversationError, Message, Reply};
use zklock_testkit::wire::{ConnectRequest, ConnectResponse, Create, CreateFlags, Request, Response};

use crate::client::{Client, children_changed, deleted, refusal};
use crate::on_both_kinds;
use crate::server::{Kind, Server};

/// A timeout that is short enough to wait for, and long enough for some requests on a busy machine.
const BRIEF: i32 = 3_000;

/// Opens a session that expires soon after its client falls silent.
async fn brief(server: &Server) -> Client {
    Client::connect(server.address(), ConnectRequest::with_timeout(BRIEF)).await
}

fn none() -> ConnectResponse {
    ConnectResponse {
        protocol_version: 0,
        timeout: 0,
        session_id: 0,
        password: Some(Bytes::from_static(&[0; 16])),
        read_only: Some(false),
    }
}

/// Asserts that the server answers that there is no such session.
async fn assert_expired(server: &Server, session: &ConnectResponse) {
    match refusal(server.address(), ConnectRequest::attach(session)).await {
        ConversationError::NoSession(answer) => assert_eq!(answer, none()),
        other => panic!("{other:?}"),
    }
}

/// Old clients say nothing of read-only servers.
#[apply(on_both_kinds)]
async fn a_new_session_is_described(server: Server) {
    let mut seen = vec![none().session_id];
    let mut passwords = vec![none().password];
    let request = ConnectRequest::default;
    for request in [
        request(),
        ConnectRequest { password: None, ..request() },
        ConnectRequest { password: Some(Bytes::new()), ..request() },
        ConnectRequest { password: Some(Bytes::from_static(b"any")), ..request() },
        ConnectRequest { read_only: None, ..request() },
        ConnectRequest { read_only: Some(true), ..request() },
        ConnectRequest { protocol_version: 7, ..request() },
    ] {
        let read_only = request.read_only.map(|_| false);
        let mut client = Client::connect(server.address(), request).await;
        let session = client.session().clone();
        assert_eq!((session.protocol_version, session.timeout, session.read_only), (0, 30_000, read_only));
        assert_eq!(session.password.as_ref().unwrap().len(), 16);
        assert!(!seen.contains(&session.session_id) && !passwords.contains(&session.password));
        seen.push(session.session_id);
        passwords.push(session.password);
        client.make_as(&server.path("/n-"), CreateFlags::PERSISTENT_SEQUENTIAL).await;
    }
}

#[apply(on_both_kinds)]
async fn a_timeout_is_kept_within_the_limits(server: Server) {
    let timeouts = [
        (i32::MIN, 400),
        (0, 400),
        (399, 400),
        (400, 400),
        (401, 401),
        (59_999, 59_999),
        (60_000, 60_000),
        (60_001, 60_000),
        (i32::MAX, 60_000),
    ];
    for (asked, given) in timeouts {
        let client = Client::connect(server.address(), ConnectRequest::with_timeout(asked)).await;
        assert_eq!(client.session().timeout, given, "{asked}");
        client.close().await;
    }
    // A session may get another timeout when it is attached.
    let session = server.client().await.abandon();
    for (asked, given) in timeouts {
        let request = ConnectRequest { timeout: asked, ..ConnectRequest::attach(&session) };
        let client = Client::connect(server.address(), request).await;
        assert_eq!((client.session().timeout, client.session_id()), (given, session.session_id));
    }
}

#[apply(on_both_kinds)]
async fn the_end_of_the_own_session_is_told_before_its_answer(server: Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    client.watch_data(&server.path("/a")).await;
    client.watch_children(&server.path("")).await;
    client.send(Request::CloseSession).await.unwrap();
    for event in [deleted(server.path("/a")), children_changed(server.path(""))] {
        assert_eq!(client.receive().await.unwrap(), Message::Event(event));
    }
    assert!(matches!(client.receive().await.unwrap(), Message::Reply(_)));
    client.is_closed().await;
}

fn wrong(session: &ConnectResponse) -> [Option<Bytes>; 4] {
    let mut bytes = session.password.as_ref().unwrap().to_vec();
    bytes[15] ^= 1;
    [Some(bytes.into()), Some(Bytes::new()), Some(Bytes::from_static(&[0; 16])), None]
}

/// The server closes the session's connection before it checks the password.
#[apply(on_both_kinds)]
async fn a_wrong_password_gives_no_session_and_ends_the_connection(server: Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let session = client.session().clone();
    for password in wrong(&session) {
        assert_expired(&server, &ConnectResponse { password, ..session.clone() }).await;
        client.is_closed().await;
        client = Client::attach(server.address(), &session).await;
        assert_eq!(*client.session(), session);
    }
    assert!(client.stat(&server.path("/a")).await.is_ok());
}

#[apply(on_both_kinds)]
async fn a_session_that_never_was_or_was_closed_is_expired(server: Server) {
    let client = server.client().await;
    let session = client.session().clone();
    for session_id in [1, -1, i64::MIN, i64::MAX] {
        assert_expired(&server, &ConnectResponse { session_id, ..session.clone() }).await;
    }
    client.close().await;
    assert_expired(&server, &session).await;
}

async fn assert_refused(server: &Server, request: ConnectRequest) {
    let refusal = refusal(server.address(), request).await;
    assert!(matches!(refusal, ConversationError::Closed), "{refusal:?}");
}

#[apply(on_both_kinds)]
async fn a_server_that_is_behind_refuses(server: Server) {
    let mut client = server.client().await;
    let session = client.session().clone();
    for last_zxid_seen in [i64::MAX, 1 << 40] {
        assert_refused(&server, ConnectRequest { last_zxid_seen, ..ConnectRequest::default() }).await;
        assert_refused(&server, ConnectRequest { last_zxid_seen, ..ConnectRequest::attach(&session) }).await;
    }
    for last_zxid_seen in [client.zxid().await, -1, i64::MIN] {
        let request = ConnectRequest { last_zxid_seen, ..ConnectRequest::default() };
        Client::connect(server.address(), request).await.close().await;
    }
}

#[apply(on_both_kinds)]
async fn requests_after_a_close_are_not_done(server: Server) {
    let mut client = server.client().await;
    let before = Create::new(server.path("/before"), "", CreateFlags::PERSISTENT);
    let before = client.send(Request::Create(before)).await.unwrap();
    let close = client.send(Request::CloseSession).await.unwrap();
    let create = Create::new(server.path("/a"), "", CreateFlags::PERSISTENT);
    // The server may have closed the connection already.
    let _ = client.send(Request::Create(create)).await;
    assert!(client.reply(before).await.unwrap().outcome.is_ok());
    assert_eq!(client.reply(close).await.unwrap().outcome, Ok(Response::Empty));
    // It is a race whether the server reports the failure before it closes the connection.
    for message in client.until_closed().await.unwrap() {
        assert!(matches!(message, Message::Reply(Reply { outcome: Err(_), .. })), "{message:?}");
    }
    assert_eq!(server.client().await.children(&server.path("")).await, Ok(vec!["before".into()]));
}

#[apply(on_both_kinds)]
async fn an_abandoned_or_silent_session_expires_after_its_timeout(server: Server) {
    let mut other = server.client().await;
    let start = Instant::now();
    let (mut abandoned, mut silent) = (brief(&server).await, brief(&server).await);
    let paths = ["/1", "/2", "/3"].map(|name| server.path(name));
    for path in &paths {
        let client = if *path == paths[0] { &mut abandoned } else { &mut silent };
        client.make_as(path, CreateFlags::EPHEMERAL).await;
        other.watch_data(path).await;
    }
    silent.make(&server.path("/b")).await;
    let session = abandoned.abandon();
    let mut events = Vec::new();
    for _ in &paths {
        events.push(other.event().await.unwrap());
        assert!(start.elapsed() >= Duration::from_millis(BRIEF as u64), "{:?}", start.elapsed());
    }
    events.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(events, paths.map(deleted));
    // A server reports the deletions before it closes the connection of the session, and it closes a new connection that
    // asks for the session in between. It answers this request after both.
    assert_eq!(other.children(&server.path("")).await, Ok(vec!["b".into()]));
    assert_expired(&server, &session).await;
    silent.is_closed().await;
}

/// A ping, another request, and a new connection keep a session beyond its timeout.
#[apply(on_both_kinds)]
async fn requests_keep_a_session(server: Server) {
    let (mut pings, mut reads, mut moves) =
        (brief(&server).await, brief(&server).await, brief(&server).await);
    for (client, name) in [(&mut pings, "/1"), (&mut reads, "/2"), (&mut moves, "/3")] {
        client.make_as(&server.path(name), CreateFlags::EPHEMERAL).await;
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(3 * BRIEF as u64 / 2) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        pings.ask(Request::Ping).await.unwrap();
        reads.stat(&server.path("")).await.unwrap();
        moves = Client::attach(server.address(), &moves.abandon()).await;
    }
    assert_eq!(moves.children(&server.path("")).await.unwrap().len(), 3);
}
