//! The superuser, on servers that have one.

use zklock_testkit::wire::{
    Acl, ClientInfo, Create, CreateFlags, Delete, ErrorCode, Id, Op, OpResult, Request, Response, permissions,
};

use crate::case::cases;
use crate::client::{Client, deleted, world};
use crate::server::Server;

cases! {
    the_superuser_may_do_everything,
    the_superuser_is_told_of_nodes_that_it_may_not_read,
    the_superuser_sees_hashes,
    the_superuser_is_told_as_two_identities,
    a_node_of_the_superuser_belongs_to_its_digest,
    another_password_is_no_superuser,
    a_superuser_is_not_there_unless_it_is_configured,
    an_acl_cannot_name_the_superuser,
}

/// The hash of the superuser's password, from the documentation of ZooKeeper's access control.
const DIGEST: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";

async fn superuser(server: &Server) -> Client {
    let mut client = server.reaper_client().await;
    client.authenticate("super", "admin").await;
    client
}

/// Creates a node that permits nothing, with a child that permits nothing.
async fn make_closed(client: &mut Client, path: &str) {
    client.make(path).await;
    client.make_for(&format!("{path}/child"), vec![world(0)]).await;
    client.set_acl(path, vec![world(0)]).await.unwrap();
}

async fn the_superuser_may_do_everything(server: &Server) {
    let mut other = server.reaper_client().await;
    let path = server.path("/a");
    make_closed(&mut other, &path).await;
    assert_eq!(other.data(&path).await, Err(ErrorCode::NO_AUTH));
    let mut client = superuser(server).await;
    client.data(&path).await.unwrap();
    client.children(&path).await.unwrap();
    client.set(&path, "new").await.unwrap();
    client.make(&server.path("/a/b")).await;
    let delete = Op::Delete(Delete { path: server.path("/a/b"), version: -1 });
    assert_eq!(client.ask(Request::Multi(vec![delete])).await, Ok(Response::Multi(vec![OpResult::Deleted])));
    client.delete(&server.path("/a/child")).await.unwrap();
    client.set_acl(&path, vec![world(permissions::READ)]).await.unwrap();
    assert!(other.data(&path).await.is_ok());
}

async fn the_superuser_is_told_of_nodes_that_it_may_not_read(server: &Server) {
    let mut other = server.reaper_client().await;
    let path = server.path("/a");
    make_closed(&mut other, &path).await;
    let mut client = superuser(server).await;
    client.watch_data(&server.path("/a/child")).await;
    client.delete(&server.path("/a/child")).await.unwrap();
    assert_eq!(client.event().await.unwrap(), deleted(server.path("/a/child")));
}

async fn the_superuser_sees_hashes(server: &Server) {
    let mut client = superuser(server).await;
    let acl = vec![Acl::new(permissions::READ, Id::new("digest", "user:hash"))];
    client.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, acl);
}

async fn the_superuser_is_told_as_two_identities(server: &Server) {
    let mut client = superuser(server).await;
    client.authenticate("super", "admin").await;
    let answer = client.ask(Request::WhoAmI).await;
    let Ok(Response::WhoAmI(infos)) = answer else { panic!("{answer:?}") };
    let mut infos: Vec<_> = infos.into_iter().map(|ClientInfo { scheme, user }| (scheme, user)).collect();
    infos.sort();
    let expected = [("digest", "super"), ("ip", "127.0.0.1"), ("super", "")];
    assert_eq!(infos, expected.map(|(scheme, user)| (scheme.to_owned(), user.to_owned())));
}

async fn a_node_of_the_superuser_belongs_to_its_digest(server: &Server) {
    let mut client = superuser(server).await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, Id::new("auth", ""))]).await;
    let expected = Acl::new(permissions::ALL, Id::new("digest", DIGEST));
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, [expected]);
}

async fn another_password_is_no_superuser(server: &Server) {
    let mut client = server.reaper_client().await;
    make_closed(&mut client, &server.path("/a")).await;
    client.authenticate("super", "other").await;
    client.authenticate("admin", "super").await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
}

async fn a_superuser_is_not_there_unless_it_is_configured(server: &Server) {
    let mut client = server.client().await;
    make_closed(&mut client, &server.path("/a")).await;
    client.authenticate("super", "admin").await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
}

async fn an_acl_cannot_name_the_superuser(server: &Server) {
    let mut client = superuser(server).await;
    let acl = vec![Acl::new(permissions::ALL, Id::new("super", ""))];
    let create = Create { acl, ..Create::new(server.path("/a"), "", CreateFlags::PERSISTENT) };
    assert_eq!(client.create(create).await, Err(ErrorCode::INVALID_ACL));
}
