//! Watches that a client sets again after a reconnect, and the changes that it has missed.

use zklock_testkit::wire::{Request, Response, SetWatches, WatchEvent};

use crate::case::cases;
use crate::client::{Client, changed, children_changed};
use crate::server::Server;

cases! {
    both_versions_do_the_same,
    watches_are_added_to_those_there_are,
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
