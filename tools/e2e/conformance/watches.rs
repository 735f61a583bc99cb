//! One-shot watches, each of which reports one event.

use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{Acl, CreateFlags, ErrorCode, Request, WatcherType};

use crate::case::cases;
use crate::client::{Client, children_changed, deleted, world};
use crate::server::Server;

cases! {
    reads_that_are_not_allowed_set_no_watch,
    watches_die_with_their_connection,
    the_own_end_is_told_before_its_answer,
    the_root_is_watched_too,
    watches_are_checked_by_their_kind,
    a_used_watch_is_no_watch,
    an_unknown_kind_of_watch_is_malformed,
}

async fn reads_that_are_not_allowed_set_no_watch(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make_for(&path, vec![world(16)]).await;
    for request in [
        Request::GetData { path: path.clone(), watch: true },
        Request::GetChildren { path: path.clone(), watch: true },
        Request::GetChildren2 { path: path.clone(), watch: true },
    ] {
        assert_eq!(client.ask(request).await, Err(ErrorCode::NO_AUTH));
    }
    client.set_acl(&path, vec![Acl::open()]).await.unwrap();
    client.set(&path, "x").await.unwrap();
    client.make(&server.path("/a/b")).await;
    assert_eq!(client.seen().await, []);
}

async fn watches_die_with_their_connection(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.add_watch(&server.path(""), 1).await;
    let session = client.abandon();
    let mut client = Client::attach(server.address(), &session).await;
    client.set(&server.path(""), "x").await.unwrap();
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, []);
}

async fn the_own_end_is_told_before_its_answer(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    client.watch_data(&server.path("/a")).await;
    client.watch_children(&server.path("")).await;
    client.send(Request::CloseSession).await.unwrap();
    for event in [deleted(server.path("/a")), children_changed(server.path(""))] {
        assert_eq!(client.receive().await.unwrap(), Message::Event(event));
    }
    assert!(matches!(client.receive().await.unwrap(), Message::Reply(_)));
    client.is_closed().await;
}

async fn the_root_is_watched_too(server: &Server) {
    let mut client = server.client().await;
    client.watch_children("/").await;
    client.make(&server.path("-sibling")).await;
    assert_eq!(client.seen().await, [children_changed("/")]);
}

/// Sets a watch of each kind on the case's own node.
async fn watch(client: &mut Client, server: &Server) {
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
}

/// Changes the case's own node in every way that a watch can see.
async fn change(client: &mut Client, server: &Server) {
    client.set(&server.path(""), "x").await.unwrap();
    client.make_as(&server.path("/n-"), CreateFlags::PERSISTENT_SEQUENTIAL).await;
}

async fn watches_are_checked_by_their_kind(server: &Server) {
    let mut client = server.client().await;
    let (path, no_watcher) = (server.path(""), Err(ErrorCode::NO_WATCHER));
    assert_eq!(client.check_watches(&path, WatcherType::ANY).await, no_watcher);
    client.watch_data(&path).await;
    assert_eq!(client.check_watches(&path, WatcherType::DATA).await, Ok(()));
    assert_eq!(client.check_watches(&path, WatcherType::CHILDREN).await, no_watcher);
    assert_eq!(client.check_watches(&path, WatcherType::ANY).await, Ok(()));
    client.watch_children(&path).await;
    assert_eq!(client.check_watches(&path, WatcherType::CHILDREN).await, Ok(()));
    assert_eq!(client.check_watches(&server.path("/a"), WatcherType::ANY).await, no_watcher);
}

async fn a_used_watch_is_no_watch(server: &Server) {
    let mut client = server.client().await;
    watch(&mut client, server).await;
    change(&mut client, server).await;
    for kind in [WatcherType::DATA, WatcherType::CHILDREN, WatcherType::ANY] {
        assert_eq!(client.check_watches(&server.path(""), kind).await, Err(ErrorCode::NO_WATCHER));
        assert_eq!(client.remove_watches(&server.path(""), kind).await, Err(ErrorCode::NO_WATCHER));
    }
}

async fn an_unknown_kind_of_watch_is_malformed(server: &Server) {
    let mut client = server.client().await;
    watch(&mut client, server).await;
    for kind in [0, -1, 6] {
        let kind = WatcherType(kind);
        let malformed = Err(ErrorCode::MARSHALLING_ERROR);
        assert_eq!(client.check_watches(&server.path(""), kind).await, malformed);
        assert_eq!(client.remove_watches(&server.path(""), kind).await, malformed);
    }
}
