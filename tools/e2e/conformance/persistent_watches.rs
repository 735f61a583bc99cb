//! Watches that stay, of one node or of all nodes below it.

use zklock_testkit::wire::{AddWatch, ErrorCode, Request, WatcherType};

use crate::case::cases;
use crate::client::{changed, children_changed, created, deleted};
use crate::server::Server;

cases! {
    a_recursive_watch_sees_no_siblings,
    a_recursive_watch_leaves_one_shot_watches_below_alone,
    a_recursive_watch_leaves_child_watches_below_alone,
    a_one_shot_watch_becomes_persistent,
    an_unknown_mode_is_malformed,
    a_recursive_watch_is_no_watch_of_what_is_below,
    the_root_is_watched_recursively,
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
