//! Watches, as far as random scripts do not set them: of both modes at one path, of the root, and without permission.

use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{
    Acl, AddWatch, CreateFlags, ErrorCode, Request, Response, SetWatches, WatchEvent, WatcherType,
};

use crate::case::cases;
use crate::client::{Client, changed, children_changed, created, deleted, world};
use crate::server::Server;

cases! {
    reads_that_are_not_allowed_set_no_watch,
    watches_die_with_their_connection,
    the_own_end_is_told_before_its_answer,
    the_root_is_watched_too,
    watches_are_checked_by_their_kind,
    a_used_watch_is_no_watch,
    an_unknown_kind_of_watch_is_malformed,
    both_versions_do_the_same,
    watches_are_added_to_those_there_are,
    a_recursive_watch_sees_no_siblings,
    a_recursive_watch_leaves_one_shot_watches_below_alone,
    a_recursive_watch_leaves_child_watches_below_alone,
    a_one_shot_watch_becomes_persistent,
    an_unknown_mode_is_malformed,
    a_recursive_watch_is_no_watch_of_what_is_below,
    the_root_is_watched_recursively,
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

/// Sets watches, and returns the events that were missed.
async fn set(client: &mut Client, watches: SetWatches) -> Vec<WatchEvent> {
    assert_eq!(client.ask(Request::SetWatches2(watches)).await, Ok(Response::Empty));
    client.seen().await
}

fn data(relative_zxid: i64, path: String) -> SetWatches {
    SetWatches { relative_zxid, data: vec![path], ..SetWatches::default() }
}

async fn both_versions_do_the_same(server: &Server) {
    let mut client = server.client().await;
    let watches = SetWatches {
        exist: vec![server.path("")],
        child: vec![server.path("/no")],
        ..data(0, server.path(""))
    };
    let mut told = Vec::new();
    for request in [Request::SetWatches(watches.clone()), Request::SetWatches2(watches)] {
        assert_eq!(client.ask(request).await, Ok(Response::Empty));
        told.push(client.seen().await);
    }
    assert_eq!(told[0].len(), 3);
    assert_eq!(told[0], told[1]);
}

async fn watches_are_added_to_those_there_are(server: &Server) {
    let mut client = server.client().await;
    client.watch_children(&server.path("")).await;
    let zxid = client.zxid().await;
    assert_eq!(set(&mut client, data(zxid, server.path(""))).await, []);
    client.make(&server.path("/a")).await;
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(client.seen().await, [children_changed(server.path("")), changed(server.path(""))]);
}

const PERSISTENT: i32 = 0;
const RECURSIVE: i32 = 1;

async fn a_recursive_watch_sees_no_siblings(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.add_watch(&server.path("/a"), RECURSIVE).await;
    client.make(&server.path("/ab")).await;
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn a_recursive_watch_leaves_one_shot_watches_below_alone(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let [path, a] = ["", "/a"].map(|path| server.path(path));
    one.make(&a).await;
    one.add_watch(&path, RECURSIVE).await;
    one.watch_data(&a).await;
    other.set(&a, "x").await.unwrap();
    assert_eq!(one.seen().await, [changed(&a)]);
    one.remove_watches(&path, WatcherType::ANY).await.unwrap();
    other.set(&a, "y").await.unwrap();
    assert_eq!(one.seen().await, []);
}

async fn a_recursive_watch_leaves_child_watches_below_alone(server: &Server) {
    let mut client = server.client().await;
    let [path, a, b] = ["", "/a", "/a/b"].map(|path| server.path(path));
    client.make(&a).await;
    client.add_watch(&path, RECURSIVE).await;
    client.watch_children(&a).await;
    client.make(&b).await;
    client.delete(&b).await.unwrap();
    assert_eq!(client.seen().await, [created(&b), children_changed(&a), deleted(&b)]);
}

async fn a_one_shot_watch_becomes_persistent(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    client.watch_data(&path).await;
    client.add_watch(&path, PERSISTENT).await;
    client.set(&path, "x").await.unwrap();
    client.set(&path, "y").await.unwrap();
    assert_eq!(client.seen().await, [changed(&path), changed(&path)]);
}

async fn an_unknown_mode_is_malformed(server: &Server) {
    let mut client = server.client().await;
    for mode in [-1, 2, i32::MAX] {
        let add = Request::AddWatch(AddWatch { path: server.path(""), mode });
        assert_eq!(client.ask(add).await, Err(ErrorCode::MARSHALLING_ERROR));
    }
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn a_recursive_watch_is_no_watch_of_what_is_below(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.add_watch(&server.path(""), RECURSIVE).await;
    let no_watcher = Err(ErrorCode::NO_WATCHER);
    assert_eq!(client.check_watches(&server.path("/a"), WatcherType::ANY).await, no_watcher);
    assert_eq!(client.remove_watches(&server.path("/a"), WatcherType::ANY).await, no_watcher);
    client.set(&server.path("/a"), "x").await.unwrap();
    assert_eq!(client.seen().await, [changed(server.path("/a"))]);
}

/// Other cases run below the root at the same time, so only the events of this case are checked.
async fn the_root_is_watched_recursively(server: &Server) {
    let mut client = server.client().await;
    client.add_watch("/", RECURSIVE).await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/a/b")).await;
    let mut events = client.seen().await;
    events.retain(|event| event.path.starts_with(&server.path("/")));
    assert_eq!(events, [created(server.path("/a")), created(server.path("/a/b"))]);
}
