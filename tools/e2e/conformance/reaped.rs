//! Nodes that the server deletes by itself: containers after their last child, and nodes with a time to live.

use rstest_reuse::apply;
use zklock_testkit::wire::{Create, CreateFlags, Op, Request};

use crate::client::{Client, children_changed, deleted};
use crate::on_both_kinds;
use crate::server::{Kind, Server};

fn container(path: &str) -> Request {
    Request::CreateContainer(Create::new(path, "", CreateFlags::CONTAINER))
}

fn with_ttl(path: &str, flags: CreateFlags, ttl: i64) -> Op {
    Op::CreateTtl { create: Create::new(path, "", flags), ttl }
}

/// Creates and deletes a child, so that the node has had one.
async fn use_once(client: &mut Client, path: &str) {
    client.make(&format!("{path}/child")).await;
    client.delete(&format!("{path}/child")).await.unwrap();
}

async fn until_gone(client: &mut Client, path: &str) {
    // If the node is gone already, a watch for its existence would report the next node at this path.
    if client.ask(Request::GetData { path: path.into(), watch: true }).await.is_ok() {
        assert_eq!(client.event().await.unwrap(), deleted(path));
    }
}

/// Waits until the server has deleted two nodes one after the other, and so has looked at all others.
async fn until_all_are_checked(client: &mut Client, server: &Server) {
    for name in ["/probe1", "/probe2"] {
        client.created(container(&server.path(name))).await.unwrap();
        use_once(client, &server.path(name)).await;
        until_gone(client, &server.path(name)).await;
    }
}

/// Only the opcode decides the kind of the new node, and in a transaction only the flag.
#[apply(on_both_kinds)]
async fn containers_go_after_their_last_child(server: Server) {
    let mut client = server.reaper_client().await;
    let create = |name, flags| Create::new(server.path(name), "", flags);
    for (name, flags) in [("/go-1", CreateFlags::CONTAINER), ("/go-2", CreateFlags::EPHEMERAL)] {
        client.created(Request::CreateContainer(create(name, flags))).await.unwrap();
    }
    client.ask(Request::Multi(vec![Op::Create(create("/go-3", CreateFlags::CONTAINER))])).await.unwrap();
    client.create(create("/stay-1", CreateFlags::CONTAINER)).await.unwrap();
    client.created(Request::Create2(create("/stay-2", CreateFlags::CONTAINER))).await.unwrap();
    let persistent = Op::CreateContainer(create("/stay-3", CreateFlags::PERSISTENT));
    client.ask(Request::Multi(vec![persistent])).await.unwrap();
    client.created(container(&server.path("/stay-4"))).await.unwrap();
    client.make(&server.path("/stay-4/b")).await;
    for name in ["/go-1", "/go-2", "/go-3", "/stay-1", "/stay-2", "/stay-3", "/stay-4"] {
        use_once(&mut client, &server.path(name)).await;
    }
    client.created(container(&server.path("/stay-unused"))).await.unwrap();
    until_all_are_checked(&mut client, &server).await;
    let left = ["stay-1", "stay-2", "stay-3", "stay-4", "stay-unused"].map(str::to_owned);
    assert_eq!(client.children(&server.path("")).await, Ok(left.into()));
}

#[apply(on_both_kinds)]
async fn a_container_goes_after_an_ephemeral_child(server: Server) {
    let (mut one, mut other) = (server.reaper_client().await, server.reaper_client().await);
    one.created(container(&server.path("/a"))).await.unwrap();
    one.make_as(&server.path("/a/b"), CreateFlags::EPHEMERAL).await;
    one.close().await;
    until_gone(&mut other, &server.path("/a")).await;
}

#[apply(on_both_kinds)]
async fn containers_go_from_the_inside_out(server: Server) {
    let mut client = server.reaper_client().await;
    let paths = ["/a", "/a/b", "/a/b/c"].map(|path| server.path(path));
    for path in &paths {
        client.created(container(path)).await.unwrap();
    }
    for path in &paths {
        client.watch_exists(path).await.unwrap();
    }
    client.watch_children(&server.path("")).await;
    use_once(&mut client, &paths[2]).await;
    for path in paths.iter().rev() {
        assert_eq!(client.event().await.unwrap(), deleted(path));
    }
    assert_eq!(client.event().await.unwrap(), children_changed(server.path("")));
}

#[apply(on_both_kinds)]
async fn a_container_that_went_is_created_again(server: Server) {
    let mut client = server.reaper_client().await;
    for _ in 0..2 {
        client.created(container(&server.path("/a"))).await.unwrap();
        assert_eq!(client.stat(&server.path("/a")).await.unwrap().cversion, 0);
        use_once(&mut client, &server.path("/a")).await;
        until_gone(&mut client, &server.path("/a")).await;
    }
}

/// A transaction ignores a time to live that the flags do not ask for.
#[apply(on_both_kinds)]
async fn nodes_go_after_their_time_to_live(server: Server) {
    let mut client = server.reaper_client().await;
    let nodes = [
        ("/go", CreateFlags::PERSISTENT_WITH_TTL, 1),
        ("/go-", CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL, 1),
        ("/stay-1", CreateFlags::PERSISTENT_WITH_TTL, 3_600_000),
        ("/stay-2", CreateFlags::PERSISTENT, 1),
    ];
    let ops = nodes.map(|(name, flags, ttl)| with_ttl(&server.path(name), flags, ttl));
    client.ask(Request::Multi(ops.into())).await.unwrap();
    until_gone(&mut client, &server.path("/go")).await;
    until_gone(&mut client, &server.path("/go-0000000001")).await;
    until_all_are_checked(&mut client, &server).await;
    client.close().await;
    let left = server.reaper_client().await.children(&server.path("")).await;
    assert_eq!(left, Ok(vec!["stay-1".into(), "stay-2".into()]));
}

/// The node and its child are created at once, because the server may delete a node without children at any time.
#[apply(on_both_kinds)]
async fn a_node_with_children_stays_until_they_are_gone(server: Server) {
    let mut client = server.reaper_client().await;
    let (path, child) = (server.path("/a"), server.path("/a/b"));
    let node = with_ttl(&path, CreateFlags::PERSISTENT_WITH_TTL, 1);
    let ops = vec![node, Op::Create(Create::new(&child, "", CreateFlags::PERSISTENT))];
    client.ask(Request::Multi(ops)).await.unwrap();
    until_all_are_checked(&mut client, &server).await;
    client.watch_data(&path).await;
    client.watch_children(&server.path("")).await;
    client.delete(&child).await.unwrap();
    assert_eq!(client.event().await.unwrap(), deleted(path));
    assert_eq!(client.event().await.unwrap(), children_changed(server.path("")));
}
