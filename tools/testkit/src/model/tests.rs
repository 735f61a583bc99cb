//! Tests of the model.

use std::net::Ipv4Addr;

use super::*;
use crate::wire::{Create, CreateFlags, Delete};

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
