//! Several writes in one transaction: all of them are done, or none.

use bytes::Bytes;
use zklock_testkit::wire::{
    CheckVersion, Create, CreateFlags, Delete, ErrorCode, Op, OpResult, Opcode, Request, Response, SetData,
};

use crate::case::cases;
use crate::client::{Client, created, deleted};
use crate::server::Server;

cases! {
    all_operations_are_done_in_order,
    all_operations_are_one_transaction,
    nothing_is_done_when_one_fails,
    operations_before_a_failure_are_told_as_done,
    the_first_operation_may_fail,
    the_last_operation_may_fail,
    a_failure_is_no_failure_of_the_request,
    operations_see_what_was_done_before_them,
    a_node_may_come_and_go,
    a_node_may_go_and_come,
    a_parent_and_its_child_are_created_together,
    a_child_and_its_parent_are_deleted_together,
    ephemeral_nodes_are_created,
    containers_are_created,
    nodes_with_a_time_to_live_are_not_created,
    a_create_that_asks_for_a_stat_is_done,
    checks_alone_change_nothing,
    no_operations_are_done_at_once,
    events_are_told_of_each_operation,
    no_events_are_told_of_a_failure,
    a_path_that_is_bad_fails_alone,
    what_was_done_before_is_seen_through_a_failure,
}

fn create(path: String) -> Op {
    Op::Create(Create::new(path, "", CreateFlags::PERSISTENT))
}

fn delete(path: String) -> Op {
    Op::Delete(Delete { path, version: -1 })
}

fn set(path: String) -> Op {
    Op::SetData(SetData { path, data: Some(Bytes::from("new")), version: -1 })
}

fn check(path: String, version: i32) -> Op {
    Op::Check(CheckVersion { path, version })
}

async fn multi(client: &mut Client, ops: Vec<Op>) -> Vec<OpResult> {
    match client.ask(Request::Multi(ops)).await {
        Ok(Response::Multi(results)) => results,
        other => panic!("{other:?}"),
    }
}

async fn codes(client: &mut Client, ops: Vec<Op>) -> Vec<i32> {
    let code = |result| match result {
        OpResult::Failed(code) => code.0,
        other => panic!("{other:?}"),
    };
    multi(client, ops).await.into_iter().map(code).collect()
}

async fn all_operations_are_done_in_order(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![
        create(server.path("/a")),
        set(server.path("/a")),
        check(server.path("/a"), 1),
        delete(server.path("/a")),
        create(server.path("/b")),
    ];
    let results = multi(&mut client, ops).await;
    let OpResult::DataSet(stat) = results[1] else { panic!("{results:?}") };
    assert_eq!((stat.version, stat.data_length), (1, 3));
    let expected = [
        OpResult::Created(server.path("/a")),
        OpResult::DataSet(stat),
        OpResult::Checked,
        OpResult::Deleted,
        OpResult::Created(server.path("/b")),
    ];
    assert_eq!(results, expected);
    assert_eq!(client.children(&server.path("")).await, Ok(vec!["b".into()]));
}

async fn all_operations_are_one_transaction(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), set(server.path("/a")), create(server.path("/a/b"))];
    let zxid = client.full(Request::Multi(ops)).await.zxid;
    let stat = client.stat(&server.path("/a")).await.unwrap();
    assert_eq!((stat.czxid, stat.mzxid, stat.pzxid), (zxid, zxid, zxid));
    assert_eq!(client.stat(&server.path("/a/b")).await.unwrap().czxid, zxid);
    assert_eq!(client.stat(&server.path("")).await.unwrap().pzxid, zxid);
}

async fn nothing_is_done_when_one_fails(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let before = client.children2(&server.path("")).await;
    let node = client.data(&server.path("/a")).await;
    let ops = vec![
        set(server.path("/a")),
        create(server.path("/b")),
        create(server.path("/a/c")),
        check(server.path("/a"), 0),
    ];
    assert_eq!(codes(&mut client, ops).await, [0, 0, 0, ErrorCode::BAD_VERSION.0]);
    assert_eq!(client.children2(&server.path("")).await, before);
    assert_eq!(client.data(&server.path("/a")).await, node);
}

async fn operations_before_a_failure_are_told_as_done(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![
        create(server.path("/a")),
        check(server.path(""), 0),
        delete(server.path("/no")),
        create(server.path("/b")),
        delete(server.path("/no")),
    ];
    let inconsistent = ErrorCode::RUNTIME_INCONSISTENCY.0;
    let expected = [0, 0, ErrorCode::NO_NODE.0, inconsistent, inconsistent];
    assert_eq!(codes(&mut client, ops).await, expected);
}

async fn the_first_operation_may_fail(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("")), create(server.path("/a"))];
    let expected = [ErrorCode::NODE_EXISTS.0, ErrorCode::RUNTIME_INCONSISTENCY.0];
    assert_eq!(codes(&mut client, ops).await, expected);
    assert_eq!(client.children(&server.path("")).await, Ok(vec![]));
}

async fn the_last_operation_may_fail(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), delete(server.path(""))];
    assert_eq!(codes(&mut client, ops).await, [0, ErrorCode::NOT_EMPTY.0]);
    assert_eq!(client.children(&server.path("")).await, Ok(vec![]));
}

async fn a_failure_is_no_failure_of_the_request(server: &Server) {
    let mut client = server.client().await;
    let reply = client.full(Request::Multi(vec![delete(server.path("/no"))])).await;
    let expected = Response::Multi(vec![OpResult::Failed(ErrorCode::NO_NODE)]);
    assert_eq!(reply.outcome, Ok(expected));
}

async fn operations_see_what_was_done_before_them(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![set(server.path("")), set(server.path("")), check(server.path(""), 1)];
    assert_eq!(codes(&mut client, ops).await, [0, 0, ErrorCode::BAD_VERSION.0]);
    let ops = vec![set(server.path("")), set(server.path("")), check(server.path(""), 2)];
    assert_eq!(multi(&mut client, ops).await[2], OpResult::Checked);
}

async fn a_node_may_come_and_go(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), delete(server.path("/a"))];
    let zxid = client.full(Request::Multi(ops)).await.zxid;
    let (children, stat) = client.children2(&server.path("")).await.unwrap();
    assert_eq!((children, stat.cversion, stat.pzxid), (vec![], 2, zxid));
}

async fn a_node_may_go_and_come(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.set(&server.path("/a"), "old").await.unwrap();
    let ops = vec![delete(server.path("/a")), create(server.path("/a"))];
    let zxid = client.full(Request::Multi(ops)).await.zxid;
    let stat = client.stat(&server.path("/a")).await.unwrap();
    assert_eq!((stat.czxid, stat.version, stat.data_length), (zxid, 0, 0));
}

async fn a_parent_and_its_child_are_created_together(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), create(server.path("/a/b"))];
    let expected = [OpResult::Created(server.path("/a")), OpResult::Created(server.path("/a/b"))];
    assert_eq!(multi(&mut client, ops).await, expected);
    let ops = vec![create(server.path("/c/d")), create(server.path("/c"))];
    let expected = [ErrorCode::NO_NODE.0, ErrorCode::RUNTIME_INCONSISTENCY.0];
    assert_eq!(codes(&mut client, ops).await, expected);
}

async fn a_child_and_its_parent_are_deleted_together(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/a/b")).await;
    let ops = vec![delete(server.path("/a")), delete(server.path("/a/b"))];
    let expected = [ErrorCode::NOT_EMPTY.0, ErrorCode::RUNTIME_INCONSISTENCY.0];
    assert_eq!(codes(&mut client, ops).await, expected);
    let ops = vec![delete(server.path("/a/b")), delete(server.path("/a"))];
    assert_eq!(multi(&mut client, ops).await, [OpResult::Deleted, OpResult::Deleted]);
}

async fn ephemeral_nodes_are_created(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let node = Create::new(server.path("/a-"), "", CreateFlags::EPHEMERAL_SEQUENTIAL);
    let path = server.path("/a-0000000000");
    let child = Op::Create(Create::new(format!("{path}/b"), "", CreateFlags::PERSISTENT));
    let ops = vec![Op::Create(node.clone()), child];
    assert_eq!(codes(&mut one, ops).await, [0, ErrorCode::NO_CHILDREN_FOR_EPHEMERALS.0]);
    assert_eq!(multi(&mut one, vec![Op::Create(node)]).await, [OpResult::Created(path.clone())]);
    assert_eq!(other.stat(&path).await.unwrap().ephemeral_owner, one.session_id());
    one.close().await;
    assert_eq!(other.stat(&path).await, Err(ErrorCode::NO_NODE));
}

/// The answer has another opcode than the request.
async fn containers_are_created(server: &Server) {
    let mut client = server.client().await;
    let container = Create::new(server.path("/a"), "", CreateFlags::CONTAINER);
    let results = multi(&mut client, vec![Op::CreateContainer(container)]).await;
    let stat = client.stat(&server.path("/a")).await.unwrap();
    let opcode = Opcode::CREATE2;
    assert_eq!(results, [OpResult::Created2 { opcode, path: server.path("/a"), stat }]);
}

async fn nodes_with_a_time_to_live_are_not_created(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a"), "", CreateFlags::PERSISTENT_WITH_TTL);
    let op = Op::CreateTtl { create, ttl: 1000 };
    assert_eq!(codes(&mut client, vec![op]).await, [ErrorCode::UNIMPLEMENTED.0]);
}

/// It depends on the version of ZooKeeper whether the answer has a stat.
async fn a_create_that_asks_for_a_stat_is_done(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a"), "", CreateFlags::PERSISTENT);
    let results = multi(&mut client, vec![Op::Create2(create)]).await;
    let (OpResult::Created(path) | OpResult::Created2 { path, .. }) = &results[0] else {
        panic!("{results:?}")
    };
    assert_eq!(*path, server.path("/a"));
    assert!(client.stat(path).await.is_ok());
}

async fn checks_alone_change_nothing(server: &Server) {
    let mut client = server.client().await;
    let before = client.stat(&server.path("")).await;
    let ops = vec![check(server.path(""), 0), check(server.path(""), -1), check("/".into(), -1)];
    assert_eq!(multi(&mut client, ops).await, [OpResult::Checked, OpResult::Checked, OpResult::Checked]);
    let no_node = vec![check(server.path("/no"), -1)];
    assert_eq!(codes(&mut client, no_node).await, [ErrorCode::NO_NODE.0]);
    let version = vec![check(server.path(""), -2)];
    assert_eq!(codes(&mut client, version).await, [ErrorCode::BAD_VERSION.0]);
    assert_eq!(client.stat(&server.path("")).await, before);
}

async fn no_operations_are_done_at_once(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(multi(&mut client, vec![]).await, []);
}

async fn events_are_told_of_each_operation(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make(&server.path("/a")).await;
    other.watch_data(&server.path("/a")).await;
    other.watch_exists(&server.path("/b")).await.unwrap_err();
    multi(&mut one, vec![create(server.path("/b")), delete(server.path("/a"))]).await;
    assert_eq!(other.seen().await, [created(server.path("/b")), deleted(server.path("/a"))]);
}

async fn no_events_are_told_of_a_failure(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.watch_exists(&server.path("/a")).await.unwrap_err();
    let ops = vec![create(server.path("/a")), set(server.path("")), delete(server.path("/no"))];
    assert_eq!(codes(&mut client, ops).await, [0, 0, ErrorCode::NO_NODE.0]);
    assert_eq!(client.seen().await, []);
}

async fn a_path_that_is_bad_fails_alone(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), create(server.path("/.")), create(server.path("/b"))];
    let expected = [0, ErrorCode::BAD_ARGUMENTS.0, ErrorCode::RUNTIME_INCONSISTENCY.0];
    assert_eq!(codes(&mut client, ops).await, expected);
    let ops = vec![create(String::new())];
    assert_eq!(codes(&mut client, ops).await, [ErrorCode::BAD_ARGUMENTS.0]);
}

async fn what_was_done_before_is_seen_through_a_failure(server: &Server) {
    let mut client = server.client().await;
    let failing = vec![set(server.path("/a")), delete(server.path("/a")), delete(server.path("/no"))];
    let pipeline = [
        Request::Multi(vec![create(server.path("/a")), set(server.path("/a"))]),
        Request::Multi(failing),
        Request::Multi(vec![check(server.path("/a"), 1), create(server.path("/a/b"))]),
    ];
    let mut last = 0;
    for request in pipeline {
        last = client.send(request).await.unwrap();
    }
    client.reply(last - 2).await.unwrap();
    client.reply(last - 1).await.unwrap();
    let expected = vec![OpResult::Checked, OpResult::Created(server.path("/a/b"))];
    assert_eq!(client.reply(last).await.unwrap().outcome, Ok(Response::Multi(expected)));
}
