//! Data and ACLs are replaced.

use bytes::Bytes;
use zklock_testkit::wire::{Acl, ErrorCode, Request, SetAcl, SetData, Stat, permissions};

use crate::case::cases;
use crate::client::{stat_of, world};
use crate::server::Server;

cases! {
    data_is_replaced,
    data_becomes_null,
    the_version_of_the_data_must_be_right,
    the_same_data_is_a_new_version,
    what_is_not_there_is_not_replaced,
    the_root_has_data_too,
    an_acl_is_replaced,
    the_version_of_the_acl_must_be_right,
    the_versions_count_apart,
}

async fn data_is_replaced(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    let before = client.stat(&path).await.unwrap();
    let set = SetData { path: path.clone(), data: Some(Bytes::from("new")), version: 0 };
    let reply = client.full(Request::SetData(set)).await;
    let stat = stat_of(reply.outcome.unwrap());
    let expected = Stat { mzxid: reply.zxid, mtime: stat.mtime, version: 1, data_length: 3, ..before };
    assert_eq!(stat, expected);
    assert_eq!(client.data(&path).await, Ok((Some(Bytes::from("new")), stat)));
}

async fn data_becomes_null(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    let set = SetData { path: path.clone(), data: None, version: -1 };
    let stat = client.ask(Request::SetData(set)).await.map(stat_of).unwrap();
    assert_eq!((stat.data_length, stat.version), (0, 2));
    assert_eq!(client.data(&path).await, Ok((None, stat)));
}

async fn the_version_of_the_data_must_be_right(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    for version in [1, -2, i32::MIN, i32::MAX] {
        assert_eq!(client.set_version(&path, "x", version).await, Err(ErrorCode::BAD_VERSION));
    }
    assert_eq!(client.set_version(&path, "x", 0).await.unwrap().version, 1);
    assert_eq!(client.set_version(&path, "x", 0).await, Err(ErrorCode::BAD_VERSION));
    assert_eq!(client.set_version(&path, "x", 1).await.unwrap().version, 2);
    assert_eq!(client.set_version(&path, "x", -1).await.unwrap().version, 3);
}

async fn the_same_data_is_a_new_version(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    let one = client.set(&path, "x").await.unwrap();
    let two = client.set(&path, "x").await.unwrap();
    assert_eq!((one.version, two.version), (1, 2));
    assert!(one.mzxid < two.mzxid);
}

async fn what_is_not_there_is_not_replaced(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(client.set(&server.path("/a"), "").await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.set_version(&server.path("/a"), "", 7).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.set_acl(&server.path("/a"), vec![Acl::open()]).await, Err(ErrorCode::NO_NODE));
}

async fn the_root_has_data_too(server: &Server) {
    let mut client = server.client().await;
    let before = client.data("/").await.unwrap();
    let stat = client.set("/", "").await.unwrap();
    assert_eq!(stat.version, before.1.version + 1);
    assert_eq!((before.1.czxid, before.1.ctime), (0, 0));
}

async fn an_acl_is_replaced(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    let before = client.stat(&path).await.unwrap();
    let acl = vec![world(permissions::READ | permissions::ADMIN)];
    let stat = client.set_acl(&path, acl.clone()).await.unwrap();
    assert_eq!(stat, Stat { aversion: 1, ..before });
    assert_eq!(client.acl(&path).await, Ok((acl, stat)));
    assert_eq!(client.set(&path, "x").await, Err(ErrorCode::NO_AUTH));
}

async fn the_version_of_the_acl_must_be_right(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    let set = |version| Request::SetAcl(SetAcl { path: path.clone(), acl: vec![Acl::open()], version });
    for version in [1, -2] {
        assert_eq!(client.ask(set(version)).await, Err(ErrorCode::BAD_VERSION));
    }
    for (version, next) in [(0, 1), (1, 2), (-1, 3)] {
        assert_eq!(client.ask(set(version)).await.map(stat_of).unwrap().aversion, next);
    }
}

async fn the_versions_count_apart(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    client.set(&path, "x").await.unwrap();
    client.set_acl(&path, vec![Acl::open()]).await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.make(&server.path("/a/c")).await;
    client.make(&server.path("/a/d")).await;
    let stat = client.stat(&path).await.unwrap();
    assert_eq!((stat.version, stat.aversion, stat.cversion), (2, 1, 3));
}
