//! Watches that a client sets again after a reconnect, and the changes that it has missed.

use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{Request, Response, SetWatches, WatchEvent, xid};

use crate::case::cases;
use crate::client::{Client, changed, children_changed, created, deleted};
use crate::server::Server;

cases! {
    data_that_is_known_is_watched,
    data_that_has_changed_is_told,
    data_that_is_gone_is_told,
    a_node_that_was_created_again_has_other_data,
    children_that_are_known_are_watched,
    children_that_have_changed_are_told,
    children_of_what_is_gone_are_told,
    a_deleted_child_is_told,
    new_data_is_no_news_of_children,
    children_are_no_news_of_data,
    what_is_not_there_is_watched,
    what_is_there_now_is_told,
    what_was_there_all_the_time_is_told,
    what_is_told_is_not_watched,
    persistent_watches_tell_nothing_of_the_past,
    all_is_told_before_the_answer,
    a_path_may_be_told_twice,
    both_versions_do_the_same,
    watches_are_added_to_those_there_are,
    nothing_is_watched_at_once,
    the_number_of_the_request_comes_back,
}

/// Sets watches, and returns the events that were missed.
async fn set(client: &mut Client, watches: SetWatches) -> Vec<WatchEvent> {
    assert_eq!(client.ask(Request::SetWatches2(watches)).await, Ok(Response::Empty));
    client.seen().await
}

fn data(relative_zxid: i64, path: String) -> SetWatches {
    SetWatches { relative_zxid, data: vec![path], ..SetWatches::default() }
}

fn exist(relative_zxid: i64, path: String) -> SetWatches {
    SetWatches { relative_zxid, exist: vec![path], ..SetWatches::default() }
}

fn child(relative_zxid: i64, path: String) -> SetWatches {
    SetWatches { relative_zxid, child: vec![path], ..SetWatches::default() }
}

async fn data_that_is_known_is_watched(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.set(&server.path(""), "x").await.unwrap().mzxid;
    assert_eq!(set(&mut client, data(zxid, server.path(""))).await, []);
    client.set(&server.path(""), "y").await.unwrap();
    assert_eq!(client.seen().await, [changed(server.path(""))]);
}

async fn data_that_has_changed_is_told(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.set(&server.path(""), "x").await.unwrap().mzxid;
    let events = set(&mut client, data(zxid - 1, server.path(""))).await;
    assert_eq!(events, [changed(server.path(""))]);
}

async fn data_that_is_gone_is_told(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.zxid().await;
    for relative in [0, zxid, i64::MAX] {
        let events = set(&mut client, data(relative, server.path("/a"))).await;
        assert_eq!(events, [deleted(server.path("/a"))]);
    }
}

async fn a_node_that_was_created_again_has_other_data(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let zxid = client.zxid().await;
    client.delete(&server.path("/a")).await.unwrap();
    client.make(&server.path("/a")).await;
    let events = set(&mut client, data(zxid, server.path("/a"))).await;
    assert_eq!(events, [changed(server.path("/a"))]);
}

async fn children_that_are_known_are_watched(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let zxid = client.stat(&server.path("")).await.unwrap().pzxid;
    assert_eq!(set(&mut client, child(zxid, server.path(""))).await, []);
    client.make(&server.path("/b")).await;
    assert_eq!(client.seen().await, [children_changed(server.path(""))]);
}

async fn children_that_have_changed_are_told(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let zxid = client.stat(&server.path("")).await.unwrap().pzxid;
    let events = set(&mut client, child(zxid - 1, server.path(""))).await;
    assert_eq!(events, [children_changed(server.path(""))]);
}

async fn children_of_what_is_gone_are_told(server: &Server) {
    let mut client = server.client().await;
    let events = set(&mut client, child(i64::MAX, server.path("/a"))).await;
    assert_eq!(events, [deleted(server.path("/a"))]);
}

async fn a_deleted_child_is_told(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let zxid = client.stat(&server.path("")).await.unwrap().pzxid;
    client.delete(&server.path("/a")).await.unwrap();
    let events = set(&mut client, child(zxid, server.path(""))).await;
    assert_eq!(events, [children_changed(server.path(""))]);
}

async fn new_data_is_no_news_of_children(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.stat(&server.path("")).await.unwrap().pzxid;
    client.set(&server.path(""), "x").await.unwrap();
    assert_eq!(set(&mut client, child(zxid, server.path(""))).await, []);
}

async fn children_are_no_news_of_data(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.stat(&server.path("")).await.unwrap().mzxid;
    client.make(&server.path("/a")).await;
    assert_eq!(set(&mut client, data(zxid, server.path(""))).await, []);
}

async fn what_is_not_there_is_watched(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(set(&mut client, exist(0, server.path("/a"))).await, []);
    client.make(&server.path("/a")).await;
    assert_eq!(client.seen().await, [created(server.path("/a"))]);
}

async fn what_is_there_now_is_told(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.zxid().await;
    client.make(&server.path("/a")).await;
    let events = set(&mut client, exist(zxid, server.path("/a"))).await;
    assert_eq!(events, [created(server.path("/a"))]);
}

async fn what_was_there_all_the_time_is_told(server: &Server) {
    let mut client = server.client().await;
    let events = set(&mut client, exist(i64::MAX, server.path(""))).await;
    assert_eq!(events, [created(server.path(""))]);
}

async fn what_is_told_is_not_watched(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let watches = SetWatches {
        relative_zxid: 0,
        data: vec![server.path("/a")],
        exist: vec![server.path("/a")],
        child: vec![server.path("/a")],
        ..SetWatches::default()
    };
    assert_eq!(set(&mut client, watches).await.len(), 3);
    client.set(&server.path("/a"), "x").await.unwrap();
    client.make(&server.path("/a/b")).await;
    assert_eq!(client.seen().await, []);
}

async fn persistent_watches_tell_nothing_of_the_past(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let watches = SetWatches {
        relative_zxid: 0,
        persistent: vec![server.path("")],
        persistent_recursive: vec![server.path("/a"), server.path("/no")],
        ..SetWatches::default()
    };
    assert_eq!(set(&mut client, watches).await, []);
    for _ in 0..2 {
        client.set(&server.path(""), "x").await.unwrap();
        client.make(&server.path("/a/b")).await;
        client.delete(&server.path("/a/b")).await.unwrap();
        let b = server.path("/a/b");
        assert_eq!(client.seen().await, [changed(server.path("")), created(&b), deleted(&b)]);
    }
    client.make(&server.path("/no")).await;
    assert_eq!(client.seen().await, [created(server.path("/no")), children_changed(server.path(""))]);
}

async fn all_is_told_before_the_answer(server: &Server) {
    let mut client = server.client().await;
    let paths: Vec<String> = (0..5).map(|number| server.path(&format!("/{number}"))).collect();
    let watches = SetWatches {
        data: paths.clone(),
        exist: vec![server.path("")],
        child: vec![server.path("/no")],
        ..SetWatches::default()
    };
    client.send(Request::SetWatches(watches)).await.unwrap();
    let told = paths.into_iter().map(deleted);
    let told = told.chain([created(server.path("")), deleted(server.path("/no"))]);
    for event in told {
        assert_eq!(client.receive().await.unwrap(), Message::Event(event));
    }
    assert!(matches!(client.receive().await.unwrap(), Message::Reply(_)));
}

async fn a_path_may_be_told_twice(server: &Server) {
    let mut client = server.client().await;
    let a = server.path("/a");
    let watches =
        SetWatches { data: vec![a.clone(), a.clone()], child: vec![a.clone()], ..data(0, a.clone()) };
    let expected = [deleted(&a), deleted(&a), deleted(&a)];
    assert_eq!(set(&mut client, watches).await, expected);
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

async fn nothing_is_watched_at_once(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(set(&mut client, SetWatches::default()).await, []);
}

async fn the_number_of_the_request_comes_back(server: &Server) {
    let mut client = server.client().await;
    let zxid = client.zxid().await;
    let reply = client.full(Request::SetWatches2(data(zxid, server.path("")))).await;
    assert_eq!(reply.xid, xid::SET_WATCHES);
    assert!(reply.zxid >= zxid);
}
