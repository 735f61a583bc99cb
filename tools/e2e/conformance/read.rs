//! Reads of nodes, and the stats that they return.

use zklock_testkit::wire::{CreateFlags, ErrorCode, Op, Request, Response};

use crate::case::cases;
use crate::server::Server;

cases! {
    all_descendants_are_counted,
    ephemerals_are_told_to_their_session_alone,
    ephemerals_are_told_below_a_prefix_of_characters,
    reads_in_one_request_set_no_watches,
    writes_among_reads_are_malformed,
    a_sync_tells_its_path,
}

async fn all_descendants_are_counted(server: &Server) {
    let mut client = server.client().await;
    for name in ["/a", "/a/b", "/a/b/c", "/ab", "/ab/c"] {
        client.make(&server.path(name)).await;
    }
    for (name, count) in [("", 5), ("/a", 2), ("/a/b", 1), ("/a/b/c", 0)] {
        let answer = client.ask(Request::GetAllChildrenNumber { path: server.path(name) }).await;
        assert_eq!(answer, Ok(Response::Count(count)), "{name}");
    }
}

async fn ephemerals_are_told_to_their_session_alone(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    one.make_as(&server.path("/b-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    one.make(&server.path("/c")).await;
    other.make_as(&server.path("/d"), CreateFlags::EPHEMERAL).await;
    for prefix in ["", " ", "/", " / "] {
        let answer = one.ask(Request::GetEphemerals { prefix: prefix.into() }).await;
        let Ok(Response::Ephemerals(mut paths)) = answer else { panic!("{answer:?}") };
        paths.sort();
        assert_eq!(paths, [server.path("/a"), server.path("/b-0000000001")]);
    }
    let answer = other.ask(Request::GetEphemerals { prefix: "/".into() }).await;
    assert_eq!(answer, Ok(Response::Ephemerals(vec![server.path("/d")])));
    one.delete(&server.path("/d")).await.unwrap();
    let answer = other.ask(Request::GetEphemerals { prefix: "/".into() }).await;
    assert_eq!(answer, Ok(Response::Ephemerals(vec![])));
}

async fn ephemerals_are_told_below_a_prefix_of_characters(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/ab"), CreateFlags::EPHEMERAL).await;
    for (prefix, found) in [("/a", true), ("/ab", true), ("/ab/", false), ("/b", false)] {
        let answer = client.ask(Request::GetEphemerals { prefix: server.path(prefix) }).await;
        let expected = found.then(|| server.path("/ab")).into_iter().collect();
        assert_eq!(answer, Ok(Response::Ephemerals(expected)), "{prefix}");
    }
}

fn read(path: String) -> Op {
    Op::GetData { path, watch: true }
}

fn list(path: String) -> Op {
    Op::GetChildren { path, watch: true }
}

async fn reads_in_one_request_set_no_watches(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let ops = vec![read(server.path("/a")), list(server.path(""))];
    client.ask(Request::MultiRead(ops)).await.unwrap();
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn writes_among_reads_are_malformed(server: &Server) {
    let mut client = server.client().await;
    let check = zklock_testkit::wire::CheckVersion { path: server.path(""), version: 0 };
    for ops in [vec![Op::Check(check.clone())], vec![read(server.path("")), Op::Check(check.clone())]] {
        assert_eq!(client.ask(Request::MultiRead(ops)).await, Err(ErrorCode::MARSHALLING_ERROR));
    }
    for ops in [vec![read(server.path(""))], vec![Op::Check(check), read(server.path(""))]] {
        assert_eq!(client.ask(Request::Multi(ops)).await, Err(ErrorCode::MARSHALLING_ERROR));
    }
    assert!(client.stat(&server.path("")).await.is_ok());
}

async fn a_sync_tells_its_path(server: &Server) {
    let mut client = server.client().await;
    for path in ["/", "/no", "", "no path"] {
        let answer = client.ask(Request::Sync { path: path.into() }).await;
        assert_eq!(answer, Ok(Response::Path(path.into())));
    }
}
