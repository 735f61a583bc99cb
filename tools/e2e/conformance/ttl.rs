//! Nodes with a time to live, on servers that allow them.

use zklock_testkit::wire::{Create, CreateFlags, Delete, ErrorCode, Op, OpResult, Opcode, Request, Response};

use crate::case::cases;
use crate::client::{Client, children_changed, deleted};
use crate::server::Server;

cases! {
    a_node_goes_after_its_time_to_live,
    a_node_stays_until_its_time_is_over,
    a_node_with_children_stays_until_they_are_gone,
    a_node_is_of_no_session,
    the_end_of_a_node_is_told,
    a_node_with_a_time_to_live_may_be_counted,
    a_time_to_live_is_positive_and_has_five_bytes,
    a_time_to_live_needs_its_own_opcode,
    only_a_node_with_a_time_to_live_has_one,
    a_multi_makes_nodes_with_a_time_to_live,
    a_multi_ignores_a_time_to_live_that_the_flags_do_not_ask_for,
}

const TTL: CreateFlags = CreateFlags::PERSISTENT_WITH_TTL;
/// The longest time to live in milliseconds, which is 34 years.
const LONGEST: i64 = 0xff_ffff_ffff;

fn with_ttl(path: &str, ttl: i64) -> Request {
    Request::CreateTtl { create: Create::new(path, "", TTL), ttl }
}

async fn until_gone(client: &mut Client, path: &str) {
    if client.ask(Request::GetData { path: path.into(), watch: true }).await.is_ok() {
        assert_eq!(client.event().await.unwrap(), deleted(path));
    }
}

/// Waits until the server has deleted two nodes one after the other, and so has looked at all others.
async fn until_nodes_are_checked(client: &mut Client, server: &Server) {
    for name in ["/probe1", "/probe2"] {
        client.created(with_ttl(&server.path(name), 1)).await.unwrap();
        until_gone(client, &server.path(name)).await;
    }
}

async fn a_node_goes_after_its_time_to_live(server: &Server) {
    let mut client = server.reaper_client().await;
    let (path, stat) = client.created(with_ttl(&server.path("/a"), 1)).await.unwrap();
    assert_eq!((path.as_str(), stat.ephemeral_owner), (server.path("/a").as_str(), 0));
    until_gone(&mut client, &path).await;
    assert_eq!(client.stat(&path).await, Err(ErrorCode::NO_NODE));
}

async fn a_node_stays_until_its_time_is_over(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(with_ttl(&server.path("/a"), 3_600_000)).await.unwrap();
    until_nodes_are_checked(&mut client, server).await;
    assert_eq!(client.stat(&server.path("/a")).await.unwrap().ephemeral_owner, 0);
}

/// The node and its child are created at once, because the server may delete a node without children at any
/// time.
async fn a_node_with_children_stays_until_they_are_gone(server: &Server) {
    let mut client = server.reaper_client().await;
    let (path, child) = (server.path("/a"), server.path("/a/b"));
    let node = Op::CreateTtl { create: Create::new(&path, "", TTL), ttl: 1 };
    let ops = vec![node, Op::Create(Create::new(&child, "", CreateFlags::PERSISTENT))];
    client.ask(Request::Multi(ops)).await.unwrap();
    until_nodes_are_checked(&mut client, server).await;
    assert_eq!(client.children(&path).await, Ok(vec!["b".into()]));
    client.delete(&child).await.unwrap();
    until_gone(&mut client, &path).await;
}

async fn a_node_is_of_no_session(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(with_ttl(&server.path("/a"), LONGEST)).await.unwrap();
    assert_eq!(
        client.ask(Request::GetEphemerals { prefix: "/".into() }).await,
        Ok(Response::Ephemerals(vec![]))
    );
    client.close().await;
    assert!(server.reaper_client().await.stat(&server.path("/a")).await.is_ok());
}

async fn the_end_of_a_node_is_told(server: &Server) {
    let mut client = server.reaper_client().await;
    let (path, child) = (server.path("/a"), server.path("/a/b"));
    let node = Op::CreateTtl { create: Create::new(&path, "", TTL), ttl: 1 };
    let ops = vec![node, Op::Create(Create::new(&child, "", CreateFlags::PERSISTENT))];
    client.ask(Request::Multi(ops)).await.unwrap();
    client.watch_data(&path).await;
    client.watch_children(&server.path("")).await;
    client.ask(Request::Delete(Delete { path: child, version: -1 })).await.unwrap();
    assert_eq!(client.event().await.unwrap(), deleted(path));
    assert_eq!(client.event().await.unwrap(), children_changed(server.path("")));
}

async fn a_node_with_a_time_to_live_may_be_counted(server: &Server) {
    let mut client = server.reaper_client().await;
    let create = Create::new(server.path("/a-"), "", CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL);
    let (path, _) = client.created(Request::CreateTtl { create, ttl: 1 }).await.unwrap();
    assert_eq!(path, server.path("/a-0000000000"));
    until_gone(&mut client, &path).await;
}

async fn a_time_to_live_is_positive_and_has_five_bytes(server: &Server) {
    let mut client = server.reaper_client().await;
    for ttl in [0, -1, i64::MIN, LONGEST + 1, i64::MAX] {
        let answer = client.created(with_ttl(&server.path("/a"), ttl)).await;
        assert_eq!(answer, Err(ErrorCode::BAD_ARGUMENTS), "{ttl}");
    }
    assert!(client.created(with_ttl(&server.path("/a"), LONGEST)).await.is_ok());
}

async fn a_time_to_live_needs_its_own_opcode(server: &Server) {
    let mut client = server.reaper_client().await;
    for flags in [TTL, CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL] {
        let create = Create::new(server.path("/a"), "", flags);
        for request in [
            Request::Create(create.clone()),
            Request::Create2(create.clone()),
            Request::CreateContainer(create.clone()),
        ] {
            assert_eq!(client.ask(request).await, Err(ErrorCode::BAD_ARGUMENTS));
        }
    }
}

async fn only_a_node_with_a_time_to_live_has_one(server: &Server) {
    let mut client = server.reaper_client().await;
    for flags in [CreateFlags::PERSISTENT, CreateFlags::EPHEMERAL, CreateFlags::CONTAINER] {
        for ttl in [0, 1, LONGEST] {
            let request = Request::CreateTtl { create: Create::new(server.path("/a"), "", flags), ttl };
            assert_eq!(client.ask(request).await, Err(ErrorCode::BAD_ARGUMENTS), "{flags:?} {ttl}");
        }
    }
    let request = Request::CreateTtl { create: Create::new(server.path("/a"), "", CreateFlags(9)), ttl: 1 };
    assert_eq!(client.ask(request).await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn a_multi_makes_nodes_with_a_time_to_live(server: &Server) {
    let mut client = server.reaper_client().await;
    let path = server.path("/a");
    let op = Op::CreateTtl { create: Create::new(&path, "", TTL), ttl: LONGEST };
    let answer = client.ask(Request::Multi(vec![op])).await;
    let stat = client.stat(&path).await.unwrap();
    let created = OpResult::Created2 { opcode: Opcode::CREATE2, path, stat };
    assert_eq!(answer, Ok(Response::Multi(vec![created])));
    let op = Op::CreateTtl { create: Create::new(server.path("/b"), "", TTL), ttl: 0 };
    let answer = client.ask(Request::Multi(vec![op])).await;
    assert_eq!(answer, Ok(Response::Multi(vec![OpResult::Failed(ErrorCode::BAD_ARGUMENTS)])));
}

async fn a_multi_ignores_a_time_to_live_that_the_flags_do_not_ask_for(server: &Server) {
    let mut client = server.reaper_client().await;
    let path = server.path("/a");
    let op = Op::CreateTtl { create: Create::new(&path, "", CreateFlags::PERSISTENT), ttl: 1 };
    let answer = client.ask(Request::Multi(vec![op])).await;
    assert_eq!(answer, Ok(Response::Multi(vec![OpResult::Created(path.clone())])));
    until_nodes_are_checked(&mut client, server).await;
    assert!(client.stat(&path).await.is_ok());
}
