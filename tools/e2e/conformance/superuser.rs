//! The superuser, on servers that have one.

use zklock_testkit::wire::ErrorCode;

use crate::case::cases;
use crate::client::{Client, deleted, world};
use crate::server::Server;

cases! {
    the_superuser_is_told_of_nodes_that_it_may_not_read,
    a_superuser_is_not_there_unless_it_is_configured,
}

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

async fn the_superuser_is_told_of_nodes_that_it_may_not_read(server: &Server) {
    let mut other = server.reaper_client().await;
    let path = server.path("/a");
    make_closed(&mut other, &path).await;
    let mut client = superuser(server).await;
    client.watch_data(&server.path("/a/child")).await;
    client.delete(&server.path("/a/child")).await.unwrap();
    assert_eq!(client.event().await.unwrap(), deleted(server.path("/a/child")));
}

async fn a_superuser_is_not_there_unless_it_is_configured(server: &Server) {
    let mut client = server.client().await;
    make_closed(&mut client, &server.path("/a")).await;
    client.authenticate("super", "admin").await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
}
