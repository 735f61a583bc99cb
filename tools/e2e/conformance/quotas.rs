//! The statistics that a server keeps of a subtree with a quota.

use zklock_testkit::wire::{CreateFlags, Delete, ErrorCode, Op, Request, Response};

use crate::case::cases;
use crate::client::Client;
use crate::server::{Options, Server};

cases! {
    a_quota_counts_its_node_and_all_below_it,
    new_statistics_count_what_is_there,
    statistics_without_limits_stay_as_they_are,
    statistics_follow_every_change,
    statistics_have_no_version,
    only_the_nearest_quota_counts,
    a_quota_of_a_node_that_is_missing_counts_nothing,
    a_quota_that_is_gone_counts_nothing,
    a_soft_limit_refuses_nothing,
    a_failed_multi_is_not_counted,
    every_operation_of_a_multi_is_counted,
    the_nodes_of_an_ended_session_are_not_counted,
    a_restart_keeps_the_statistics,
    statistics_can_be_written_and_are_counted_on_from_there,
}

fn place(path: &str) -> String {
    format!("/zookeeper/quota{path}")
}

/// Limits a subtree as `setquota` does, with limits that are larger than it needs.
async fn limit(client: &mut Client, path: &str) {
    limit_without_statistics(client, path).await;
    client.make(&format!("{}/zookeeper_stats", place(path))).await;
}

async fn limit_without_statistics(client: &mut Client, path: &str) {
    let mut above = String::new();
    for name in path.split('/').skip(1) {
        above = format!("{above}/{name}");
        if client.stat(&place(&above)).await.is_err() {
            client.make(&place(&above)).await;
        }
    }
    client.make(&format!("{}/zookeeper_limits", place(path))).await;
    client.set(&format!("{}/zookeeper_limits", place(path)), "count=1000,bytes=1000").await.unwrap();
}

async fn statistics(client: &mut Client, path: &str) -> String {
    let data = client.data(&format!("{}/zookeeper_stats", place(path))).await.unwrap().0;
    String::from_utf8(data.unwrap_or_default().to_vec()).unwrap()
}

async fn a_quota_counts_its_node_and_all_below_it(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=0");
    client.make(&server.path("/a/b")).await;
    client.make(&server.path("/a/b/c")).await;
    client.make(&server.path("/b")).await;
    client.make(&server.path("/ab")).await;
    assert_eq!(statistics(&mut client, &path).await, "count=3,bytes=0");
}

async fn new_statistics_count_what_is_there(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "12345").await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.set(&server.path("/a/b"), "67").await.unwrap();
    limit(&mut client, &path).await;
    assert_eq!(statistics(&mut client, &path).await, "count=2,bytes=7");
}

async fn statistics_without_limits_stay_as_they_are(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    for path in [server.path(""), server.path("/a")] {
        client.make(&place(&path)).await;
    }
    client.make(&format!("{}/zookeeper_stats", place(&server.path("/a")))).await;
    assert_eq!(statistics(&mut client, &server.path("/a")).await, "count=1,bytes=0");
    client.make(&server.path("/a/b")).await;
    assert_eq!(statistics(&mut client, &server.path("/a")).await, "count=1,bytes=0");
}

async fn statistics_follow_every_change(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    client.set(&path, "12345").await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=5");
    client.make(&server.path("/a/b")).await;
    client.set(&server.path("/a/b"), "123").await.unwrap();
    client.set(&server.path("/a/b"), "1").await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=2,bytes=6");
    client.delete(&server.path("/a/b")).await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=5");
    client.delete(&path).await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=0,bytes=0");
}

async fn statistics_have_no_version(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    limit(&mut client, &path).await;
    let of_stats = format!("{}/zookeeper_stats", place(&path));
    let before = client.stat(&of_stats).await.unwrap();
    client.watch_data(&of_stats).await;
    client.make(&path).await;
    let after = client.stat(&of_stats).await.unwrap();
    assert_eq!((after.version, after.mzxid, after.mtime), (0, before.mzxid, before.mtime));
    assert_eq!(after.data_length, 15);
    assert_eq!(client.seen().await, []);
}

async fn only_the_nearest_quota_counts(server: &Server) {
    let mut client = server.client().await;
    let (outer, inner) = (server.path("/a"), server.path("/a/b"));
    client.make(&outer).await;
    client.make(&inner).await;
    limit(&mut client, &outer).await;
    limit(&mut client, &inner).await;
    client.make(&server.path("/a/b/c")).await;
    client.make(&server.path("/a/c")).await;
    assert_eq!(statistics(&mut client, &outer).await, "count=3,bytes=0");
    assert_eq!(statistics(&mut client, &inner).await, "count=2,bytes=0");
}

async fn a_quota_of_a_node_that_is_missing_counts_nothing(server: &Server) {
    let mut client = server.client().await;
    limit(&mut client, &server.path("/a")).await;
    assert_eq!(statistics(&mut client, &server.path("/a")).await, "count=0,bytes=0");
    client.make(&server.path("/a")).await;
    assert_eq!(statistics(&mut client, &server.path("/a")).await, "count=1,bytes=0");
}

async fn a_quota_that_is_gone_counts_nothing(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    client.delete(&format!("{}/zookeeper_limits", place(&path))).await.unwrap();
    client.make(&server.path("/a/b")).await;
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=0");
    client.delete(&format!("{}/zookeeper_stats", place(&path))).await.unwrap();
    limit_again(&mut client, &path).await;
    client.make(&server.path("/a/c")).await;
    assert_eq!(client.stat(&format!("{}/zookeeper_stats", place(&path))).await, Err(ErrorCode::NO_NODE));
}

async fn limit_again(client: &mut Client, path: &str) {
    client.make(&format!("{}/zookeeper_limits", place(path))).await;
}

async fn a_soft_limit_refuses_nothing(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    client.set(&format!("{}/zookeeper_limits", place(&path)), "count=1,bytes=1").await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.set(&path, "12345").await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=2,bytes=5");
}

fn create(path: String) -> Op {
    Op::Create(zklock_testkit::wire::Create::new(path, "12", CreateFlags::PERSISTENT))
}

async fn a_failed_multi_is_not_counted(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    let delete = Op::Delete(Delete { path: server.path("/no"), version: -1 });
    client.ask(Request::Multi(vec![create(server.path("/a/b")), delete])).await.unwrap();
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=0");
    let of_stats = format!("{}/zookeeper_stats", place(&path));
    assert_eq!(client.stat(&of_stats).await.unwrap().data_length, 15);
}

async fn every_operation_of_a_multi_is_counted(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    let delete = Op::Delete(Delete { path: server.path("/a/c"), version: -1 });
    let ops = vec![create(server.path("/a/b")), create(server.path("/a/c")), delete];
    let answer = client.ask(Request::Multi(ops)).await;
    assert!(matches!(answer, Ok(Response::Multi(ref results)) if results.len() == 3), "{answer:?}");
    assert_eq!(statistics(&mut client, &path).await, "count=2,bytes=2");
}

async fn the_nodes_of_an_ended_session_are_not_counted(server: &Server) {
    let (mut client, mut other) = (server.client().await, server.client().await);
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    other.make_as(&server.path("/a/b"), CreateFlags::EPHEMERAL).await;
    assert_eq!(statistics(&mut client, &path).await, "count=2,bytes=0");
    other.close().await;
    assert_eq!(statistics(&mut client, &path).await, "count=1,bytes=0");
}

async fn a_restart_keeps_the_statistics(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    client.make("/a").await;
    client.make("/a/b").await;
    limit(&mut client, "/a").await;
    own.restart();
    let mut client = own.client().await;
    assert_eq!(statistics(&mut client, "/a").await, "count=2,bytes=0");
    client.make("/a/c").await;
    assert_eq!(statistics(&mut client, "/a").await, "count=3,bytes=0");
}

async fn statistics_can_be_written_and_are_counted_on_from_there(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    limit(&mut client, &path).await;
    let of_stats = format!("{}/zookeeper_stats", place(&path));
    for (written, counted) in [
        ("count=10,bytes=20", "count=11,bytes=22"),
        ("bytes=20;count=10", "count=11,bytes=22"),
        ("", "count=0,bytes=1"),
        ("count=10,bytes=20=;countHardLimit=30;other=7", "count=11,bytes=22=;countHardLimit=30;other=7"),
    ] {
        client.set(&of_stats, written).await.unwrap();
        client.ask(Request::Multi(vec![create(server.path("/a/b"))])).await.unwrap();
        assert_eq!(statistics(&mut client, &path).await, counted, "after {written:?}");
        client.delete(&server.path("/a/b")).await.unwrap();
    }
}
