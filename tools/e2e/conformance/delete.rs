//! Deletes that succeed, and deletes that are refused.

use zklock_testkit::wire::{CreateFlags, ErrorCode, Request};

use crate::case::cases;
use crate::server::Server;

cases! {
    a_deleted_node_is_gone,
    a_node_that_is_not_there_is_not_deleted,
    the_version_must_be_right,
    any_version_is_right_to_minus_one,
    a_node_with_children_is_not_deleted,
    a_wrong_version_matters_more_than_children,
    an_ephemeral_node_is_deleted_by_any_session,
    a_deleted_ephemeral_node_is_not_its_owners,
    the_parent_is_changed,
    a_node_is_created_again_as_a_new_one,
    a_container_is_deleted,
}

async fn a_deleted_node_is_gone(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    assert_eq!(client.delete(&path).await, Ok(()));
    assert_eq!(client.stat(&path).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.data(&path).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.children(&server.path("")).await, Ok(vec![]));
}

async fn a_node_that_is_not_there_is_not_deleted(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(client.delete(&server.path("/a")).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.delete(&server.path("/a/b")).await, Err(ErrorCode::NO_NODE));
    assert_eq!(client.delete_version(&server.path("/a"), 7).await, Err(ErrorCode::NO_NODE));
}

async fn the_version_must_be_right(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    for version in [0, 2, -2, i32::MIN, i32::MAX] {
        assert_eq!(client.delete_version(&path, version).await, Err(ErrorCode::BAD_VERSION));
    }
    assert_eq!(client.delete_version(&path, 1).await, Ok(()));
}

async fn any_version_is_right_to_minus_one(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    assert_eq!(client.delete_version(&path, -1).await, Ok(()));
}

async fn a_node_with_children_is_not_deleted(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make_as(&server.path("/a/b"), CreateFlags::EPHEMERAL).await;
    assert_eq!(client.delete(&server.path("/a")).await, Err(ErrorCode::NOT_EMPTY));
    assert_eq!(client.delete_version(&server.path("/a"), 0).await, Err(ErrorCode::NOT_EMPTY));
    client.delete(&server.path("/a/b")).await.unwrap();
    assert_eq!(client.delete(&server.path("/a")).await, Ok(()));
}

async fn a_wrong_version_matters_more_than_children(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/a/b")).await;
    assert_eq!(client.delete_version(&server.path("/a"), 1).await, Err(ErrorCode::BAD_VERSION));
}

async fn an_ephemeral_node_is_deleted_by_any_session(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let path = server.path("/a");
    one.make_as(&path, CreateFlags::EPHEMERAL).await;
    assert_eq!(other.delete(&path).await, Ok(()));
    assert_eq!(one.stat(&path).await, Err(ErrorCode::NO_NODE));
}

async fn a_deleted_ephemeral_node_is_not_its_owners(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let path = server.path("/a");
    one.make_as(&path, CreateFlags::EPHEMERAL).await;
    other.delete(&path).await.unwrap();
    other.make(&path).await;
    one.close().await;
    assert!(other.stat(&path).await.is_ok());
}

async fn the_parent_is_changed(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let before = client.stat(&server.path("")).await.unwrap();
    let zxid = client.full(delete(&server.path("/a"))).await.zxid;
    let after = client.stat(&server.path("")).await.unwrap();
    let expected = zklock_testkit::wire::Stat { pzxid: zxid, cversion: 2, num_children: 0, ..before };
    assert_eq!(after, expected);
    assert_eq!((before.cversion, before.num_children), (1, 1));
}

fn delete(path: &str) -> Request {
    Request::Delete(zklock_testkit::wire::Delete { path: path.into(), version: -1 })
}

async fn a_node_is_created_again_as_a_new_one(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.delete(&server.path("/a/b")).await.unwrap();
    let before = client.stat(&path).await.unwrap();
    client.delete(&path).await.unwrap();
    client.make(&path).await;
    let after = client.stat(&path).await.unwrap();
    assert!(after.czxid > before.pzxid);
    assert_eq!((after.version, after.cversion, after.aversion), (0, 0, 0));
}

async fn a_container_is_deleted(server: &Server) {
    let mut client = server.client().await;
    let create = zklock_testkit::wire::Create::new(server.path("/a"), "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(create)).await.unwrap();
    assert_eq!(client.delete(&server.path("/a")).await, Ok(()));
    assert_eq!(client.stat(&server.path("/a")).await, Err(ErrorCode::NO_NODE));
}
