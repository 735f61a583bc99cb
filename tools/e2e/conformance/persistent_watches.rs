//! Watches that stay, of one node or of all nodes below it.

use zklock_testkit::wire::{AddWatch, CreateFlags, ErrorCode, Request, Response, WatcherType};

use crate::case::cases;
use crate::client::{changed, children_changed, created, deleted};
use crate::server::Server;

cases! {
    a_persistent_watch_sees_its_node_and_its_children,
    a_persistent_watch_sees_no_grandchildren,
    a_persistent_watch_waits_for_its_node,
    a_persistent_watch_sees_a_deletion_once,
    a_recursive_watch_sees_all_below_it,
    a_recursive_watch_sees_no_siblings,
    a_recursive_watch_outlives_its_node,
    an_event_of_several_watches_is_told_once,
    a_recursive_watch_leaves_one_shot_watches_below_alone,
    a_recursive_watch_leaves_child_watches_below_alone,
    a_one_shot_watch_becomes_persistent,
    a_watch_that_is_added_twice_tells_one_event,
    an_unknown_mode_is_malformed,
    persistent_watches_are_removed,
    recursive_watches_are_removed,
    a_recursive_watch_is_no_watch_of_what_is_below,
    the_root_is_watched_recursively,
    an_ephemeral_node_that_ends_is_told,
}

const PERSISTENT: i32 = 0;
const RECURSIVE: i32 = 1;

async fn a_persistent_watch_sees_its_node_and_its_children(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    client.add_watch(&path, PERSISTENT).await;
    for data in ["x", "y"] {
        client.set(&path, data).await.unwrap();
    }
    for name in ["/a", "/b"] {
        client.make(&server.path(name)).await;
    }
    client.delete(&server.path("/a")).await.unwrap();
    let child = children_changed(&path);
    let expected = [changed(&path), changed(&path), child.clone(), child.clone(), child];
    assert_eq!(client.seen().await, expected);
}

async fn a_persistent_watch_sees_no_grandchildren(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.add_watch(&server.path(""), PERSISTENT).await;
    client.set(&server.path("/a"), "x").await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.delete(&server.path("/a/b")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn a_persistent_watch_waits_for_its_node(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.add_watch(&path, PERSISTENT).await;
    for _ in 0..2 {
        client.make(&path).await;
        client.delete(&path).await.unwrap();
        assert_eq!(client.seen().await, [created(&path), deleted(&path)]);
    }
}

async fn a_persistent_watch_sees_a_deletion_once(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.add_watch(&server.path(""), PERSISTENT).await;
    client.add_watch(&server.path("/a"), PERSISTENT).await;
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, [deleted(server.path("/a")), children_changed(server.path(""))]);
}

async fn a_recursive_watch_sees_all_below_it(server: &Server) {
    let mut client = server.client().await;
    let [path, a, b] = ["", "/a", "/a/b"].map(|path| server.path(path));
    client.add_watch(&path, RECURSIVE).await;
    client.make(&a).await;
    client.make(&b).await;
    for path in [&path, &a, &b] {
        client.set(path, "x").await.unwrap();
    }
    client.delete(&b).await.unwrap();
    client.delete(&a).await.unwrap();
    let expected =
        [created(&a), created(&b), changed(&path), changed(&a), changed(&b), deleted(&b), deleted(&a)];
    assert_eq!(client.seen().await, expected);
}

async fn a_recursive_watch_sees_no_siblings(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.add_watch(&server.path("/a"), RECURSIVE).await;
    client.make(&server.path("/ab")).await;
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn a_recursive_watch_outlives_its_node(server: &Server) {
    let mut client = server.client().await;
    let [a, b] = ["/a", "/a/b"].map(|path| server.path(path));
    client.add_watch(&a, RECURSIVE).await;
    for _ in 0..2 {
        client.make(&a).await;
        client.make(&b).await;
        client.delete(&b).await.unwrap();
        client.delete(&a).await.unwrap();
        assert_eq!(client.seen().await, [created(&a), created(&b), deleted(&b), deleted(&a)]);
    }
}

async fn an_event_of_several_watches_is_told_once(server: &Server) {
    let mut client = server.client().await;
    let [path, a] = ["", "/a"].map(|path| server.path(path));
    client.add_watch(&path, RECURSIVE).await;
    client.add_watch(&a, PERSISTENT).await;
    client.make(&a).await;
    client.set(&a, "x").await.unwrap();
    client.delete(&a).await.unwrap();
    assert_eq!(client.seen().await, [created(&a), changed(&a), deleted(&a)]);
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

async fn a_watch_that_is_added_twice_tells_one_event(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    for mode in [PERSISTENT, PERSISTENT] {
        client.add_watch(&path, mode).await;
    }
    client.set(&path, "x").await.unwrap();
    assert_eq!(client.seen().await, [changed(&path)]);
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

async fn persistent_watches_are_removed(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    client.add_watch(&path, PERSISTENT).await;
    assert_eq!(client.check_watches(&path, WatcherType::ANY).await, Ok(()));
    assert_eq!(client.remove_watches(&path, WatcherType::ANY).await, Ok(()));
    client.set(&path, "x").await.unwrap();
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, []);
    assert_eq!(client.remove_watches(&path, WatcherType::ANY).await, Err(ErrorCode::NO_WATCHER));
}

async fn recursive_watches_are_removed(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    client.add_watch(&path, RECURSIVE).await;
    assert_eq!(client.remove_watches(&path, WatcherType::ANY).await, Ok(()));
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, []);
    assert_eq!(client.check_watches(&path, WatcherType::ANY).await, Err(ErrorCode::NO_WATCHER));
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

async fn an_ephemeral_node_that_ends_is_told(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    other.add_watch(&server.path(""), RECURSIVE).await;
    let answer = one.ask(Request::CloseSession).await;
    assert_eq!(answer, Ok(Response::Empty));
    assert_eq!(other.event().await.unwrap(), deleted(server.path("/a")));
}
