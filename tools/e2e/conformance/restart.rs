//! The state that a server keeps when it is killed.

use zklock_testkit::wire::{Acl, ConnectRequest, Create, CreateFlags, Id, Request, permissions};

use crate::case::cases;
use crate::client::{Client, deleted};
use crate::server::{Options, Server};

cases! {
    a_restart_changes_nothing,
    sessions_have_their_timeout_again_after_a_restart,
}

async fn a_restart_changes_nothing(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    client.create(Create::new("/a", "data", CreateFlags::PERSISTENT)).await.unwrap();
    client.set("/a", "other").await.unwrap();
    let acl = vec![Acl::new(permissions::ALL, Id::new("ip", "127.0.0.1"))];
    client.set_acl("/a", acl.clone()).await.unwrap();
    let container = Create::new("/c", "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(container)).await.unwrap();
    let ephemeral = client.make_as("/a/e-", CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    client.make_as("/a/s-", CreateFlags::PERSISTENT_SEQUENTIAL).await;
    client.delete("/a/s-0000000001").await.unwrap();
    client.watch_data("/a").await;
    let before = [client.data("/a").await, client.data(&ephemeral).await, client.data("/c").await];
    let zxid = client.zxid().await;
    let session = client.session().clone();
    own.restart();
    client.is_closed().await;
    let request = ConnectRequest { last_zxid_seen: zxid, ..ConnectRequest::attach(&session) };
    let mut client = Client::connect(own.address(), request).await;
    assert_eq!(*client.session(), session);
    let after = [client.data("/a").await, client.data(&ephemeral).await, client.data("/c").await];
    assert_eq!(after, before);
    assert_eq!(client.acl("/a").await.unwrap().0, acl);
    assert_eq!(client.zxid().await, zxid);
    client.set("/a", "x").await.unwrap();
    assert_eq!(client.seen().await, [], "watches are gone");
    assert_eq!(client.zxid().await, zxid + 1);
    assert_eq!(client.make_as("/a/s-", CreateFlags::PERSISTENT_SEQUENTIAL).await, "/a/s-0000000002");
    let other = own.client().await;
    assert_ne!(other.session_id(), session.session_id);
    client.close().await;
    assert!(own.client().await.children("/a").await.unwrap() == ["s-0000000002"]);
}

async fn sessions_have_their_timeout_again_after_a_restart(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = Client::connect(own.address(), ConnectRequest::with_timeout(4_000)).await;
    client.make_as("/a", CreateFlags::EPHEMERAL).await;
    let closed = own.client().await;
    let session = closed.session().clone();
    closed.close().await;
    own.restart();
    let mut other = own.client().await;
    other.watch_exists("/a").await.unwrap();
    assert_eq!(other.event().await.unwrap(), deleted("/a"));
    let gone = crate::client::refusal(own.address(), ConnectRequest::attach(&session)).await;
    assert!(matches!(gone, zklock_testkit::conversation::ConversationError::NoSession(_)), "{gone:?}");
}
