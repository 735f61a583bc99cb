//! Several writes in one transaction: all of them are done, or none.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode, Op, OpResult, Opcode, Request, Response};

use crate::case::cases;
use crate::client::Client;
use crate::server::Server;

cases! {
    containers_are_created,
    nodes_with_a_time_to_live_are_not_created,
    a_create_that_asks_for_a_stat_is_done,
    a_path_that_is_bad_fails_alone,
}

fn create(path: String) -> Op {
    Op::Create(Create::new(path, "", CreateFlags::PERSISTENT))
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

async fn a_path_that_is_bad_fails_alone(server: &Server) {
    let mut client = server.client().await;
    let ops = vec![create(server.path("/a")), create(server.path("/.")), create(server.path("/b"))];
    let expected = [0, ErrorCode::BAD_ARGUMENTS.0, ErrorCode::RUNTIME_INCONSISTENCY.0];
    assert_eq!(codes(&mut client, ops).await, expected);
    let ops = vec![create(String::new())];
    assert_eq!(codes(&mut client, ops).await, [ErrorCode::BAD_ARGUMENTS.0]);
}
