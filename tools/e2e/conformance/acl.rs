//! The permissions that an ACL grants, and the ACLs that are valid.

use zklock_testkit::wire::{Acl, ErrorCode, Id, Request, permissions};

use crate::case::cases;
use crate::client::world;
use crate::server::Server;

cases! {
    watches_of_any_path_need_nothing,
    an_acl_is_kept_in_its_order,
}

async fn watches_of_any_path_need_nothing(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    client.add_watch(&server.path("/a"), 0).await;
    client.add_watch(&server.path("/no"), 1).await;
    let refused = client.ask(Request::GetData { path: server.path("/a"), watch: true }).await;
    assert_eq!(refused, Err(ErrorCode::NO_AUTH));
}

async fn an_acl_is_kept_in_its_order(server: &Server) {
    let mut client = server.client().await;
    let acl = vec![
        Acl::new(permissions::READ, Id::new("ip", "10.0.0.0/8")),
        world(permissions::READ | permissions::ADMIN),
        Acl::new(permissions::WRITE, Id::new("digest", "user:hash")),
        Acl::new(permissions::READ, Id::new("ip", "127.0.0.1")),
    ];
    client.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, acl);
}
