//! Sessions begin, move from connection to connection, and end.

use std::time::{Duration, Instant};

use bytes::Bytes;
use zklock_testkit::conversation::{ConversationError, Message, Reply};
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, Create, CreateFlags, ErrorCode, Request, Response,
};

use crate::case::cases;
use crate::client::{Client, deleted, refusal};
use crate::server::Server;

cases! {
    a_new_session_is_described,
    every_session_has_another_id,
    a_timeout_is_kept_within_the_limits,
    a_password_is_not_asked_of_new_sessions,
    old_clients_are_not_told_of_read_only_servers,
    a_client_may_want_a_read_only_server,
    the_version_of_the_protocol_is_zero,
    a_session_is_attached_to_another_connection,
    a_session_that_is_attached_leaves_its_connection,
    a_session_may_get_another_timeout,
    a_wrong_password_gives_no_session,
    a_wrong_password_ends_the_connection_all_the_same,
    a_session_that_never_was_is_expired,
    a_session_that_was_closed_is_expired,
    a_server_that_is_behind_refuses,
    a_server_that_is_not_behind_does_not_refuse,
    a_server_that_is_behind_refuses_sessions_it_knows,
    a_close_is_answered_and_ends_the_connection,
    what_follows_a_close_is_not_done,
    what_precedes_a_close_is_done,
    an_abandoned_session_stays_for_its_timeout,
    a_silent_session_expires,
    an_expired_session_cannot_be_attached,
    an_expired_session_loses_its_connection,
    pings_keep_a_session,
    any_request_keeps_a_session,
    an_attached_session_lives_on,
    the_end_of_a_session_tells_its_nodes,
}

/// The shortest timeout that the shared server grants.
const SHORT: i32 = 400;

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

async fn a_new_session_is_described(server: &Server) {
    let client = server.client().await;
    let session = client.session();
    assert_eq!((session.protocol_version, session.timeout), (0, 30_000));
    assert_ne!(session.session_id, 0);
    assert_eq!(session.password.as_ref().unwrap().len(), 16);
    assert_ne!(*session.password.as_ref().unwrap(), Bytes::from_static(&[0; 16]));
    assert_eq!(session.read_only, Some(false));
}

async fn every_session_has_another_id(server: &Server) {
    let (one, other) = (server.client().await, server.client().await);
    assert_ne!(one.session_id(), other.session_id());
    assert_ne!(one.session().password, other.session().password);
}

async fn a_timeout_is_kept_within_the_limits(server: &Server) {
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
}

async fn a_password_is_not_asked_of_new_sessions(server: &Server) {
    for password in [None, Some(Bytes::new()), Some(Bytes::from_static(b"any"))] {
        let request = ConnectRequest { password, ..ConnectRequest::default() };
        let client = Client::connect(server.address(), request).await;
        assert_eq!(client.session().password.as_ref().unwrap().len(), 16);
    }
}

async fn old_clients_are_not_told_of_read_only_servers(server: &Server) {
    let request = ConnectRequest { read_only: None, ..ConnectRequest::default() };
    let mut client = Client::connect(server.address(), request).await;
    assert_eq!(client.session().read_only, None);
    assert!(client.stat("/").await.is_ok());
}

async fn a_client_may_want_a_read_only_server(server: &Server) {
    let request = ConnectRequest { read_only: Some(true), ..ConnectRequest::default() };
    let mut client = Client::connect(server.address(), request).await;
    assert_eq!(client.session().read_only, Some(false));
    client.make(&server.path("/a")).await;
}

async fn the_version_of_the_protocol_is_zero(server: &Server) {
    let request = ConnectRequest { protocol_version: 7, ..ConnectRequest::default() };
    let client = Client::connect(server.address(), request).await;
    assert_eq!(client.session().protocol_version, 0);
}

async fn a_session_is_attached_to_another_connection(server: &Server) {
    let client = server.client().await;
    let session = client.abandon();
    for _ in 0..3 {
        let mut client = Client::attach(server.address(), &session).await;
        assert_eq!(*client.session(), session);
        assert!(client.stat("/").await.is_ok());
    }
}

async fn a_session_that_is_attached_leaves_its_connection(server: &Server) {
    let mut one = server.client().await;
    one.watch_data(&server.path("")).await;
    let session = one.session().clone();
    let mut other = Client::attach(server.address(), &session).await;
    one.is_closed().await;
    other.set(&server.path(""), "x").await.unwrap();
    assert_eq!(other.seen().await, []);
}

async fn a_session_may_get_another_timeout(server: &Server) {
    let session = server.client().await.abandon();
    for (asked, given) in [(5000, 5000), (1, SHORT), (i32::MAX, 60_000)] {
        let request = ConnectRequest { timeout: asked, ..ConnectRequest::attach(&session) };
        let client = Client::connect(server.address(), request).await;
        assert_eq!((client.session().timeout, client.session_id()), (given, session.session_id));
    }
}

fn wrong(session: &ConnectResponse) -> [Option<Bytes>; 4] {
    let mut bytes = session.password.as_ref().unwrap().to_vec();
    bytes[15] ^= 1;
    [Some(bytes.into()), Some(Bytes::new()), Some(Bytes::from_static(&[0; 16])), None]
}

async fn a_wrong_password_gives_no_session(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let session = client.abandon();
    for password in wrong(&session) {
        assert_expired(server, &ConnectResponse { password, ..session.clone() }).await;
    }
    let mut client = Client::attach(server.address(), &session).await;
    assert!(client.stat(&server.path("/a")).await.is_ok());
}

/// The server closes the session's connection before it checks the password.
async fn a_wrong_password_ends_the_connection_all_the_same(server: &Server) {
    let mut client = server.client().await;
    let session = client.session().clone();
    let [password, ..] = wrong(&session);
    assert_expired(server, &ConnectResponse { password, ..session.clone() }).await;
    client.is_closed().await;
    Client::attach(server.address(), &session).await.close().await;
}

async fn a_session_that_never_was_is_expired(server: &Server) {
    let session = server.client().await.abandon();
    for session_id in [1, -1, i64::MIN, i64::MAX] {
        assert_expired(server, &ConnectResponse { session_id, ..session.clone() }).await;
    }
}

async fn a_session_that_was_closed_is_expired(server: &Server) {
    let client = server.client().await;
    let session = client.session().clone();
    client.close().await;
    assert_expired(server, &session).await;
}

async fn assert_refused(server: &Server, request: ConnectRequest) {
    let refusal = refusal(server.address(), request).await;
    assert!(matches!(refusal, ConversationError::Closed), "{refusal:?}");
}

async fn a_server_that_is_behind_refuses(server: &Server) {
    for last_zxid_seen in [i64::MAX, 1 << 40] {
        assert_refused(server, ConnectRequest { last_zxid_seen, ..ConnectRequest::default() }).await;
    }
}

async fn a_server_that_is_not_behind_does_not_refuse(server: &Server) {
    let last_zxid_seen = server.client().await.zxid().await;
    for last_zxid_seen in [last_zxid_seen, -1, i64::MIN] {
        let request = ConnectRequest { last_zxid_seen, ..ConnectRequest::default() };
        Client::connect(server.address(), request).await.close().await;
    }
}

async fn a_server_that_is_behind_refuses_sessions_it_knows(server: &Server) {
    let mut client = server.client().await;
    let session = client.session().clone();
    let request = ConnectRequest { last_zxid_seen: i64::MAX, ..ConnectRequest::attach(&session) };
    assert_refused(server, request).await;
    assert!(client.stat("/").await.is_ok());
}

async fn a_close_is_answered_and_ends_the_connection(server: &Server) {
    let mut client = server.client().await;
    let before = client.zxid().await;
    let reply = client.full(Request::CloseSession).await;
    assert_eq!(reply.outcome, Ok(Response::Empty));
    assert!(reply.zxid > before);
    client.is_closed().await;
}

async fn what_follows_a_close_is_not_done(server: &Server) {
    let mut client = server.client().await;
    let close = client.send(Request::CloseSession).await.unwrap();
    let create = Create::new(server.path("/a"), "", CreateFlags::PERSISTENT);
    // The server may have closed the connection already.
    let _ = client.send(Request::Create(create)).await;
    assert_eq!(client.reply(close).await.unwrap().outcome, Ok(Response::Empty));
    // It is a race whether the server reports the failure before it closes the connection.
    for message in client.until_closed().await.unwrap() {
        assert!(matches!(message, Message::Reply(Reply { outcome: Err(_), .. })), "{message:?}");
    }
    assert_eq!(server.client().await.stat(&server.path("/a")).await, Err(ErrorCode::NO_NODE));
}

async fn what_precedes_a_close_is_done(server: &Server) {
    let mut client = server.client().await;
    let mut last = 0;
    for (name, flags) in [("/a", CreateFlags::PERSISTENT), ("/b", CreateFlags::EPHEMERAL)] {
        let create = Create::new(server.path(name), "", flags);
        last = client.send(Request::Create(create)).await.unwrap();
    }
    let close = client.send(Request::CloseSession).await.unwrap();
    for xid in [last - 1, last, close] {
        assert!(client.reply(xid).await.unwrap().outcome.is_ok());
    }
    assert_eq!(server.client().await.children(&server.path("")).await, Ok(vec!["a".into()]));
}

async fn an_abandoned_session_stays_for_its_timeout(server: &Server) {
    let (mut one, mut other) = (brief(server).await, server.client().await);
    other.watch_exists(&server.path("/a")).await.unwrap_err();
    let start = Instant::now();
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    other.event().await.unwrap();
    other.watch_data(&server.path("/a")).await;
    one.abandon();
    assert_eq!(other.event().await.unwrap(), deleted(server.path("/a")));
    assert!(start.elapsed() >= Duration::from_millis(BRIEF as u64), "{:?}", start.elapsed());
}

async fn a_silent_session_expires(server: &Server) {
    let (mut one, mut other) = (brief(server).await, server.client().await);
    let start = Instant::now();
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    one.make(&server.path("/b")).await;
    other.watch_data(&server.path("/a")).await;
    assert_eq!(other.event().await.unwrap(), deleted(server.path("/a")));
    assert!(start.elapsed() >= Duration::from_millis(BRIEF as u64), "{:?}", start.elapsed());
    assert_eq!(other.children(&server.path("")).await, Ok(vec!["b".into()]));
}

async fn an_expired_session_cannot_be_attached(server: &Server) {
    let (mut one, mut other) = (brief(server).await, server.client().await);
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    other.watch_data(&server.path("/a")).await;
    let session = one.abandon();
    other.event().await.unwrap();
    assert_expired(server, &session).await;
}

async fn an_expired_session_loses_its_connection(server: &Server) {
    let mut client = brief(server).await;
    client.is_closed().await;
}

/// Returns whether a session that sends these requests still exists long after it would have expired without
/// them.
async fn outlives_its_timeout(server: &Server, request: impl Fn() -> Request) -> bool {
    let mut client = brief(server).await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(3 * BRIEF as u64 / 2) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.ask(request()).await.unwrap();
    }
    server.client().await.stat(&server.path("/a")).await.is_ok()
}

async fn pings_keep_a_session(server: &Server) {
    assert!(outlives_its_timeout(server, || Request::Ping).await);
}

async fn any_request_keeps_a_session(server: &Server) {
    let read = || Request::Exists { path: server.path(""), watch: false };
    assert!(outlives_its_timeout(server, read).await);
}

async fn an_attached_session_lives_on(server: &Server) {
    let mut client = brief(server).await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(3 * BRIEF as u64 / 2) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        client = Client::attach(server.address(), &client.abandon()).await;
    }
    assert!(client.stat(&server.path("/a")).await.is_ok());
}

async fn the_end_of_a_session_tells_its_nodes(server: &Server) {
    let (mut one, mut other) = (brief(server).await, server.client().await);
    let paths: Vec<String> = (0..3).map(|number| server.path(&format!("/{number}"))).collect();
    for path in &paths {
        one.make_as(path, CreateFlags::EPHEMERAL).await;
        other.watch_data(path).await;
    }
    let mut events = Vec::new();
    for _ in &paths {
        events.push(other.event().await.unwrap());
    }
    events.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(events, paths.iter().map(deleted).collect::<Vec<_>>());
}
