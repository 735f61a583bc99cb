//! Tests of the model.

use std::net::Ipv4Addr;

use super::*;
use crate::wire::{Acl, AddWatch, Create, CreateFlags, Delete, Id, Op, SetAcl, SetData};

const CALLED: i32 = 1;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn create(path: &str, flags: CreateFlags) -> Create {
    Create::new(path, "data", flags)
}

/// Returns a model and its only session, whose timeout is 4 s and which expires at a multiple of 2 s.
fn model() -> (Model, ConnectionId, i64) {
    let mut model = Model::new(Settings::default(), Duration::ZERO);
    let connection = model.open(Ipv4Addr::LOCALHOST.into());
    let session = model.open_session(connection, seconds(4), Duration::ZERO);
    model.take_outputs();
    (model, connection, session)
}

fn ask(model: &mut Model, connection: ConnectionId, request: Request) {
    model.request(connection, CALLED, request, Duration::ZERO);
}

fn make(model: &mut Model, connection: ConnectionId, path: &str, flags: CreateFlags) {
    ask(model, connection, Request::Create(create(path, flags)));
}

fn attach(model: &mut Model, session: i64, now: Duration) -> ConnectionId {
    let connection = model.open(Ipv4Addr::LOCALHOST.into());
    let password = Some(session_password(session).to_vec().into());
    let request = ConnectRequest { session_id: session, password, timeout: 4_000, ..Default::default() };
    model.connect(connection, &request, now);
    connection
}

#[test]
fn a_session_ends_at_the_tick_after_its_timeout_and_not_before() {
    let (mut model, connection, session) = model();
    make(&mut model, connection, "/a", CreateFlags::EPHEMERAL);
    assert_eq!(model.next_deadline(), seconds(6));
    model.take_outputs();
    model.advance(seconds(6) - Duration::from_millis(1));
    assert_eq!((model.sessions().len(), model.take_outputs()), (1, vec![]));
    model.advance(seconds(6));
    assert_eq!(model.take_outputs(), [Output::Close(connection)]);
    assert!(model.sessions().iter().all(|view| view.id != session));
    assert!(model.node("/a").is_none());
}

#[test]
fn a_failed_multi_leaves_everything_as_it_was() {
    let (mut model, connection, _) = model();
    for path in ["/a", "/a/b", "/c"] {
        make(&mut model, connection, path, CreateFlags::PERSISTENT);
    }
    make(&mut model, connection, "/e", CreateFlags::EPHEMERAL);
    ask(&mut model, connection, Request::CreateContainer(create("/k", CreateFlags::CONTAINER)));
    ask(&mut model, connection, Request::AddWatch(AddWatch { path: "/".into(), mode: 1 }));
    model.take_outputs();
    let before = model.clone();
    let delete = |path: &str| Op::Delete(Delete { path: path.into(), version: -1 });
    let ops = vec![
        Op::Create(create("/a/n-", CreateFlags::EPHEMERAL_SEQUENTIAL)),
        Op::Create2(create("/a/n-", CreateFlags::PERSISTENT_SEQUENTIAL)),
        delete("/a/b"),
        Op::SetData(SetData { path: "/a".into(), data: None, version: 0 }),
        delete("/e"),
        delete("/k"),
        delete("/c"),
        Op::Create(create("/c", CreateFlags::EPHEMERAL)),
        delete("/no"),
    ];
    ask(&mut model, connection, Request::Multi(ops));
    assert_eq!(model.tree, before.tree);
    assert_eq!(model.watches, before.watches);
    assert_eq!(model.sessions, before.sessions);
    assert_eq!(model.zxid(), before.zxid() + 1, "a failed multi is a transaction, too");
    assert!(matches!(model.take_outputs()[..], [Output::Send(_, Message::Reply(..))]));
}

#[test]
fn containers_go_when_they_are_used_up() {
    let (mut model, connection, _) = model();
    for path in ["/used", "/new"] {
        ask(&mut model, connection, Request::CreateContainer(create(path, CreateFlags::CONTAINER)));
    }
    make(&mut model, connection, "/used/a", CreateFlags::EPHEMERAL);
    // The session expires long before the first check of the containers, which is at 60 s.
    model.advance(seconds(59));
    assert!(model.node("/used").is_some());
    model.advance(seconds(60));
    assert!(model.node("/used").is_none());
    assert!(model.node("/new").is_some());
}

#[test]
fn a_connection_takes_its_watches_along() {
    let (mut model, connection, _) = model();
    for mode in [0, 1] {
        ask(&mut model, connection, Request::AddWatch(AddWatch { path: "/".into(), mode }));
    }
    ask(&mut model, connection, Request::Exists { path: "/no".into(), watch: true });
    ask(&mut model, connection, Request::GetChildren { path: "/".into(), watch: true });
    assert_ne!(model.watches, Watches::default());
    model.disconnect(connection);
    assert_eq!(model.watches, Watches::default());
    assert_eq!((model.connections().len(), model.sessions().len()), (0, 1));
}

#[test]
fn a_session_that_moves_closes_its_connection_before_anything_else() {
    let (mut model, old, session) = model();
    let new = attach(&mut model, session, Duration::ZERO);
    let outputs = model.take_outputs();
    assert!(
        matches!(outputs[..], [Output::Close(closed), Output::Send(answered, _)]
            if (closed, answered) == (old, new)),
        "{outputs:?}"
    );
    model.disconnect(old);
    assert_eq!(model.sessions()[0].connection, Some(new));
}

#[test]
fn a_session_is_never_zero() {
    let (_, _, session) = model();
    assert_ne!(session, 0);
}

#[test]
fn ids_are_not_given_again_after_everything_else_is_forgotten() {
    let (mut model, connection, session) = model();
    model.restart_empty(Duration::ZERO);
    let new = model.open(Ipv4Addr::LOCALHOST.into());
    assert_ne!(new, connection);
    assert_ne!(model.open_session(new, seconds(4), Duration::ZERO), session);
    assert_eq!((model.zxid(), model.node_count()), (1, 4));
}

#[test]
fn a_connection_that_is_gone_gets_no_session() {
    let (mut model, connection, _) = model();
    model.disconnect(connection);
    model.open_session(connection, seconds(4), Duration::ZERO);
    assert_eq!((model.sessions().len(), model.take_outputs()), (1, vec![]));
}

#[test]
fn the_end_of_time_is_no_overflow() {
    let settings =
        Settings { tick_time: Duration::MAX, container_check_interval: Duration::MAX, ..Default::default() };
    for settings in [settings, Settings::default()] {
        let mut model = Model::new(settings, Duration::MAX);
        let connection = model.open(Ipv4Addr::LOCALHOST.into());
        model.open_session(connection, Duration::MAX, Duration::MAX);
        model.restart(Duration::MAX);
        model.advance(Duration::MAX);
    }
}

#[test]
fn a_client_may_delete_any_node_that_has_no_child_and_no_session() {
    let (mut model, connection, _) = model();
    make(&mut model, connection, "/e", CreateFlags::EPHEMERAL);
    make(&mut model, connection, "/a", CreateFlags::PERSISTENT);
    make(&mut model, connection, "/a/b", CreateFlags::PERSISTENT);
    ask(&mut model, connection, Request::CreateContainer(create("/k", CreateFlags::CONTAINER)));
    let deny = vec![Acl::new(0, Id::new("world", "anyone"))];
    ask(&mut model, connection, Request::SetAcl(SetAcl { path: "/".into(), acl: deny, version: -1 }));
    model.take_outputs();
    for (path, expected) in [
        ("/k", ErrorCode::OK),
        ("/a", ErrorCode::NOT_EMPTY),
        ("/a/b", ErrorCode::OK),
        ("/a", ErrorCode::OK),
        ("/e", ErrorCode::BAD_VERSION),
        ("/no", ErrorCode::NO_NODE),
        ("no", ErrorCode::BAD_ARGUMENTS),
        ("/zookeeper/quota", ErrorCode::BAD_ARGUMENTS),
    ] {
        ask(&mut model, connection, Request::DeleteContainer { path: path.into() });
        let outputs = model.take_outputs();
        let [Output::Send(_, Message::Reply(header, _))] = &outputs[..] else { panic!("{outputs:?}") };
        assert_eq!(header.error, expected, "{path}");
    }
    assert_eq!(model.children("/").unwrap(), ["e", "zookeeper"]);
}

#[test]
fn a_time_to_live_begins_anew_with_new_data_and_not_with_children() {
    let settings = Settings { ttl_nodes: TtlNodes::Allowed, ..Settings::default() };
    let mut model = Model::new(settings, Duration::ZERO);
    let connection = model.open(Ipv4Addr::LOCALHOST.into());
    model.open_session(connection, seconds(4), Duration::ZERO);
    let node = create("/a", CreateFlags::PERSISTENT_WITH_TTL);
    ask(&mut model, connection, Request::CreateTtl { create: node, ttl: 60_000 });
    // The checks are at multiples of 60 s, and the time has to be exceeded.
    model.advance(seconds(60));
    assert!(model.node("/a").is_some());
    let connection = model.open(Ipv4Addr::LOCALHOST.into());
    model.open_session(connection, seconds(4), seconds(61));
    let set = SetData { path: "/a".into(), data: None, version: -1 };
    model.request(connection, CALLED, Request::SetData(set), seconds(61));
    make_at(&mut model, connection, "/a/b", seconds(62));
    model.advance(seconds(120));
    assert!(model.node("/a").is_some());
    model.advance(seconds(180));
    assert!(model.node("/a").is_some(), "it has a child");
    assert_eq!(model.delete("/a/b"), 1);
    model.advance(seconds(240));
    assert!(model.node("/a").is_none());
}

fn make_at(model: &mut Model, connection: ConnectionId, path: &str, now: Duration) {
    model.request(connection, CALLED, Request::Create(create(path, CreateFlags::PERSISTENT)), now);
}

#[test]
fn a_node_that_is_not_listed_exists_and_ends_with_its_session() {
    let (mut model, connection, session) = model();
    make(&mut model, connection, "/a", CreateFlags::PERSISTENT);
    make(&mut model, connection, "/a/b", CreateFlags::EPHEMERAL);
    model.take_outputs();
    assert_eq!(model.unlist("/a/b"), Ok(()));
    assert_eq!(
        (model.unlist("/a/c"), model.unlist("/c/b")),
        (Err(ErrorCode::NO_NODE), Err(ErrorCode::NO_NODE))
    );
    assert_eq!((model.children("/a"), model.take_outputs()), (Some(vec![]), vec![]));
    assert_eq!(model.node("/a/b").unwrap().ephemeral_owner, session);
    assert!(model.ephemerals()[&session].contains("/a/b"));
    ask(&mut model, connection, Request::Delete(Delete { path: "/a".into(), version: -1 }));
    assert!(model.node("/a").is_none() && model.node("/a/b").is_some());
    model.expire(session);
    assert!(model.node("/a/b").is_none() && model.ephemerals().is_empty());
}
