//! One-shot watches, each of which reports one event.

use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{Acl, Create, CreateFlags, ErrorCode, Request, SetData, WatchEvent, WatcherType};

use crate::case::cases;
use crate::client::{Client, changed, children_changed, created, deleted, world};
use crate::server::Server;

cases! {
    new_data_is_told_to_data_watches,
    a_deletion_is_told_to_data_watches,
    a_creation_is_told_to_exist_watches,
    an_exist_watch_of_a_node_is_a_data_watch,
    children_are_told_to_child_watches,
    a_deletion_is_told_to_child_watches,
    a_deletion_is_told_once_to_a_node_watched_twice,
    a_node_is_told_before_its_parent,
    an_event_is_told_once,
    a_watch_that_is_set_twice_tells_one_event,
    data_and_exist_watches_are_one,
    data_and_child_watches_are_two,
    a_used_watch_is_set_again,
    data_watches_do_not_see_children,
    child_watches_do_not_see_data_or_grandchildren,
    nothing_else_is_told,
    reads_that_fail_set_no_watch,
    reads_that_are_not_allowed_set_no_watch,
    failures_tell_nothing,
    all_connections_are_told,
    the_own_changes_are_told_before_their_answer,
    changes_of_others_are_told_before_what_is_read_later,
    events_have_the_order_of_the_changes,
    a_watch_in_a_pipeline_sees_what_follows,
    watches_die_with_their_connection,
    the_end_of_a_session_is_told,
    the_own_end_is_told_before_its_answer,
    a_counter_is_part_of_the_path,
    the_root_is_watched_too,
    a_new_acl_tells_nothing,
    watches_are_removed_by_their_kind,
    the_watches_of_another_connection_are_not_removed,
    a_watch_that_is_not_there_is_not_removed,
    a_removal_tells_nothing,
    watches_are_checked_by_their_kind,
    a_used_watch_is_no_watch,
    an_unknown_kind_of_watch_is_malformed,
}

async fn new_data_is_told_to_data_watches(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    other.watch_data(&server.path("")).await;
    one.set(&server.path(""), "x").await.unwrap();
    assert_eq!(other.event().await.unwrap(), changed(server.path("")));
    assert_eq!(other.seen().await, []);
}

async fn a_deletion_is_told_to_data_watches(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.watch_data(&server.path("/a")).await;
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, [deleted(server.path("/a"))]);
}

async fn a_creation_is_told_to_exist_watches(server: &Server) {
    let mut client = server.client().await;
    let missing = client.watch_exists(&server.path("/a")).await;
    assert_eq!(missing, Err(ErrorCode::NO_NODE));
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, [created(server.path("/a"))]);
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn an_exist_watch_of_a_node_is_a_data_watch(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.watch_exists(&server.path("/a")).await.unwrap();
    client.set(&server.path("/a"), "x").await.unwrap();
    assert_eq!(client.seen().await, [changed(server.path("/a"))]);
    client.watch_exists(&server.path("/a")).await.unwrap();
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, [deleted(server.path("/a"))]);
}

async fn children_are_told_to_child_watches(server: &Server) {
    let mut client = server.client().await;
    client.watch_children(&server.path("")).await;
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, [children_changed(server.path(""))]);
    client.watch_children(&server.path("")).await;
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, [children_changed(server.path(""))]);
}

async fn a_deletion_is_told_to_child_watches(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.watch_children(&server.path("/a")).await;
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, [deleted(server.path("/a"))]);
}

async fn a_deletion_is_told_once_to_a_node_watched_twice(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make(&server.path("/a")).await;
    for client in [&mut one, &mut other] {
        client.watch_data(&server.path("/a")).await;
    }
    one.watch_children(&server.path("/a")).await;
    other.delete(&server.path("/a")).await.unwrap();
    assert_eq!(one.seen().await, [deleted(server.path("/a"))]);
    assert_eq!(other.seen().await, [deleted(server.path("/a"))]);
    one.make(&server.path("/a")).await;
    one.make(&server.path("/a/b")).await;
    one.set(&server.path("/a"), "x").await.unwrap();
    assert_eq!(one.seen().await, []);
}

async fn a_node_is_told_before_its_parent(server: &Server) {
    let mut client = server.client().await;
    let (parent, child) = (server.path(""), server.path("/a"));
    client.watch_children(&parent).await;
    client.watch_exists(&child).await.unwrap_err();
    client.make(&child).await;
    assert_eq!(client.seen().await, [created(&child), children_changed(&parent)]);
    client.watch_children(&parent).await;
    client.watch_children(&child).await;
    client.watch_data(&child).await;
    client.delete(&child).await.unwrap();
    assert_eq!(client.seen().await, [deleted(&child), children_changed(&parent)]);
}

async fn an_event_is_told_once(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.set(&server.path(""), "x").await.unwrap();
    client.set(&server.path(""), "y").await.unwrap();
    client.make(&server.path("/a")).await;
    client.make(&server.path("/b")).await;
    assert_eq!(client.seen().await, [changed(server.path("")), children_changed(server.path(""))]);
}

async fn a_watch_that_is_set_twice_tells_one_event(server: &Server) {
    let mut client = server.client().await;
    for _ in 0..3 {
        client.watch_data(&server.path("")).await;
        client.watch_children(&server.path("")).await;
    }
    client.set(&server.path(""), "x").await.unwrap();
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, [changed(server.path("")), children_changed(server.path(""))]);
}

async fn data_and_exist_watches_are_one(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_exists(&server.path("")).await.unwrap();
    client.set(&server.path(""), "x").await.unwrap();
    client.set(&server.path(""), "y").await.unwrap();
    assert_eq!(client.seen().await, [changed(server.path(""))]);
}

async fn data_and_child_watches_are_two(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.make(&server.path("/a")).await;
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(client.seen().await, [children_changed(server.path("")), changed(server.path(""))]);
}

async fn a_used_watch_is_set_again(server: &Server) {
    let mut client = server.client().await;
    for data in ["x", "y", "z"] {
        client.watch_data(&server.path("")).await;
        client.set(&server.path(""), data).await.unwrap();
        assert_eq!(client.seen().await, [changed(server.path(""))]);
    }
}

async fn data_watches_do_not_see_children(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.make(&server.path("/a")).await;
    client.set(&server.path("/a"), "x").await.unwrap();
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn child_watches_do_not_see_data_or_grandchildren(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.watch_children(&server.path("")).await;
    client.set(&server.path(""), "x").await.unwrap();
    client.set(&server.path("/a"), "x").await.unwrap();
    client.make(&server.path("/a/b")).await;
    client.delete(&server.path("/a/b")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn nothing_else_is_told(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.stat(&server.path("")).await.unwrap();
    one.data(&server.path("")).await.unwrap();
    one.children2(&server.path("")).await.unwrap();
    other.watch_data(&server.path("")).await;
    one.set(&server.path(""), "x").await.unwrap();
    one.make(&server.path("/a")).await;
    assert_eq!(one.seen().await, []);
    assert_eq!(other.seen().await, [changed(server.path(""))]);
}

async fn reads_that_fail_set_no_watch(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    for request in [
        Request::GetData { path: path.clone(), watch: true },
        Request::GetChildren { path: path.clone(), watch: true },
        Request::GetChildren2 { path: path.clone(), watch: true },
    ] {
        assert_eq!(client.ask(request).await, Err(ErrorCode::NO_NODE));
    }
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    client.delete(&path).await.unwrap();
    assert_eq!(client.seen().await, []);
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

async fn failures_tell_nothing(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.set_version(&server.path(""), "x", 7).await.unwrap_err();
    client.delete_version(&server.path(""), 7).await.unwrap_err();
    client.create(Create::new(server.path("/."), "", CreateFlags::PERSISTENT)).await.unwrap_err();
    assert_eq!(client.seen().await, []);
}

async fn all_connections_are_told(server: &Server) {
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = server.client().await;
        client.watch_data(&server.path("")).await;
        clients.push(client);
    }
    clients[2].set(&server.path(""), "x").await.unwrap();
    for client in &mut clients {
        assert_eq!(client.event().await.unwrap(), changed(server.path("")));
    }
}

async fn the_own_changes_are_told_before_their_answer(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    let set = SetData { path: server.path(""), data: None, version: -1 };
    client.send(Request::SetData(set)).await.unwrap();
    assert_eq!(client.receive().await.unwrap(), Message::Event(changed(server.path(""))));
    assert!(matches!(client.receive().await.unwrap(), Message::Reply(_)));
}

async fn changes_of_others_are_told_before_what_is_read_later(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    for round in 0..20 {
        other.watch_data(&server.path("")).await;
        one.set(&server.path(""), &round.to_string()).await.unwrap();
        other.send(Request::GetData { path: server.path(""), watch: false }).await.unwrap();
        assert_eq!(other.receive().await.unwrap(), Message::Event(changed(server.path(""))));
        assert!(matches!(other.receive().await.unwrap(), Message::Reply(_)));
    }
}

async fn events_have_the_order_of_the_changes(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let paths: Vec<String> = (0..20).map(|number| server.path(&format!("/{number}"))).collect();
    for path in paths.iter().rev() {
        other.watch_exists(path).await.unwrap_err();
    }
    for path in &paths {
        one.make(path).await;
    }
    let expected: Vec<WatchEvent> = paths.iter().map(created).collect();
    assert_eq!(other.seen().await, expected);
}

async fn a_watch_in_a_pipeline_sees_what_follows(server: &Server) {
    let mut client = server.client().await;
    let set = || Request::SetData(SetData { path: server.path(""), data: None, version: -1 });
    let watch = Request::GetData { path: server.path(""), watch: true };
    for request in [set(), watch, set(), set()] {
        client.send(request).await.unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..5 {
        order.push(matches!(client.receive().await.unwrap(), Message::Event(_)));
    }
    assert_eq!(order, [false, false, true, false, false]);
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

async fn the_end_of_a_session_is_told(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    other.watch_data(&server.path("/a")).await;
    other.watch_children(&server.path("")).await;
    one.close().await;
    assert_eq!(other.seen().await, [deleted(server.path("/a")), children_changed(server.path(""))]);
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

async fn a_counter_is_part_of_the_path(server: &Server) {
    let mut client = server.client().await;
    client.watch_exists(&server.path("/a-")).await.unwrap_err();
    client.watch_exists(&server.path("/a-0000000000")).await.unwrap_err();
    client.make_as(&server.path("/a-"), CreateFlags::PERSISTENT_SEQUENTIAL).await;
    assert_eq!(client.seen().await, [created(server.path("/a-0000000000"))]);
}

async fn the_root_is_watched_too(server: &Server) {
    let mut client = server.client().await;
    client.watch_children("/").await;
    client.make(&server.path("-sibling")).await;
    assert_eq!(client.seen().await, [children_changed("/")]);
}

async fn a_new_acl_tells_nothing(server: &Server) {
    let mut client = server.client().await;
    client.watch_data(&server.path("")).await;
    client.watch_children(&server.path("")).await;
    client.set_acl(&server.path(""), vec![Acl::open()]).await.unwrap();
    assert_eq!(client.seen().await, []);
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

async fn watches_are_removed_by_their_kind(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("");
    for (kind, left) in [
        (WatcherType::DATA, vec![children_changed(&path)]),
        (WatcherType::CHILDREN, vec![changed(&path)]),
        (WatcherType::ANY, vec![]),
    ] {
        watch(&mut client, server).await;
        assert_eq!(client.remove_watches(&path, kind).await, Ok(()));
        change(&mut client, server).await;
        assert_eq!(client.seen().await, left);
    }
}

async fn the_watches_of_another_connection_are_not_removed(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    watch(&mut one, server).await;
    watch(&mut other, server).await;
    one.remove_watches(&server.path(""), WatcherType::ANY).await.unwrap();
    change(&mut one, server).await;
    assert_eq!(one.seen().await, []);
    assert_eq!(other.seen().await.len(), 2);
}

async fn a_watch_that_is_not_there_is_not_removed(server: &Server) {
    let mut client = server.client().await;
    let (path, no_watcher) = (server.path(""), Err(ErrorCode::NO_WATCHER));
    for kind in [WatcherType::DATA, WatcherType::CHILDREN, WatcherType::ANY] {
        assert_eq!(client.remove_watches(&path, kind).await, no_watcher);
        assert_eq!(client.remove_watches(&server.path("/no"), kind).await, no_watcher);
    }
    client.watch_data(&path).await;
    assert_eq!(client.remove_watches(&path, WatcherType::CHILDREN).await, no_watcher);
    assert_eq!(client.remove_watches(&server.path("/a"), WatcherType::DATA).await, no_watcher);
    assert_eq!(client.remove_watches(&path, WatcherType::ANY).await, Ok(()));
    assert_eq!(client.remove_watches(&path, WatcherType::ANY).await, no_watcher);
}

async fn a_removal_tells_nothing(server: &Server) {
    let mut client = server.client().await;
    watch(&mut client, server).await;
    client.remove_watches(&server.path(""), WatcherType::ANY).await.unwrap();
    assert_eq!(client.seen().await, []);
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
