//! Containers are deleted some time after their last child.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode, Op, Request};

use crate::case::cases;
use crate::client::{Client, children_changed, deleted};
use crate::server::Server;

cases! {
    a_container_goes_after_its_last_child,
    a_container_that_was_never_used_stays,
    a_container_with_children_stays,
    a_container_goes_after_an_ephemeral_child,
    containers_go_from_the_inside_out,
    the_end_of_a_container_is_told,
    the_flag_makes_no_container,
    the_opcode_makes_a_container,
    a_multi_makes_containers_by_the_flag,
    a_container_that_went_is_created_again,
}

fn container(path: &str) -> Request {
    Request::CreateContainer(Create::new(path, "", CreateFlags::CONTAINER))
}

/// Creates and deletes a child, so that the node has had one.
async fn use_once(client: &mut Client, path: &str) {
    client.make(&format!("{path}/child")).await;
    client.delete(&format!("{path}/child")).await.unwrap();
}

/// Waits until the server has deleted a container that became deletable later than all others.
async fn until_containers_are_checked(client: &mut Client, server: &Server) {
    for name in ["/probe1", "/probe2"] {
        client.created(container(&server.path(name))).await.unwrap();
        use_once(client, &server.path(name)).await;
        until_gone(client, &server.path(name)).await;
    }
}

async fn until_gone(client: &mut Client, path: &str) {
    // If the node is gone already, a watch for its existence would report the next node at this path.
    if client.ask(Request::GetData { path: path.into(), watch: true }).await.is_ok() {
        assert_eq!(client.event().await.unwrap(), deleted(path));
    }
}

async fn a_container_goes_after_its_last_child(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(container(&server.path("/a"))).await.unwrap();
    use_once(&mut client, &server.path("/a")).await;
    until_gone(&mut client, &server.path("/a")).await;
    assert_eq!(client.stat(&server.path("/a")).await, Err(ErrorCode::NO_NODE));
}

async fn a_container_that_was_never_used_stays(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(container(&server.path("/a"))).await.unwrap();
    until_containers_are_checked(&mut client, server).await;
    assert!(client.stat(&server.path("/a")).await.is_ok());
}

async fn a_container_with_children_stays(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(container(&server.path("/a"))).await.unwrap();
    client.make(&server.path("/a/b")).await;
    use_once(&mut client, &server.path("/a")).await;
    until_containers_are_checked(&mut client, server).await;
    assert_eq!(client.children(&server.path("/a")).await, Ok(vec!["b".into()]));
}

async fn a_container_goes_after_an_ephemeral_child(server: &Server) {
    let (mut one, mut other) = (server.reaper_client().await, server.reaper_client().await);
    one.created(container(&server.path("/a"))).await.unwrap();
    one.make_as(&server.path("/a/b"), CreateFlags::EPHEMERAL).await;
    one.close().await;
    until_gone(&mut other, &server.path("/a")).await;
}

async fn containers_go_from_the_inside_out(server: &Server) {
    let mut client = server.reaper_client().await;
    let paths = ["/a", "/a/b", "/a/b/c"].map(|path| server.path(path));
    for path in &paths {
        client.created(container(path)).await.unwrap();
    }
    for path in &paths {
        client.watch_exists(path).await.unwrap();
    }
    use_once(&mut client, &paths[2]).await;
    for path in paths.iter().rev() {
        assert_eq!(client.event().await.unwrap(), deleted(path));
    }
}

async fn the_end_of_a_container_is_told(server: &Server) {
    let mut client = server.reaper_client().await;
    client.created(container(&server.path("/a"))).await.unwrap();
    client.watch_data(&server.path("/a")).await;
    client.watch_children(&server.path("")).await;
    use_once(&mut client, &server.path("/a")).await;
    assert_eq!(client.event().await.unwrap(), deleted(server.path("/a")));
    assert_eq!(client.event().await.unwrap(), children_changed(server.path("")));
}

/// Only the opcode decides the kind of the new node. The flag is checked and then ignored.
async fn the_flag_makes_no_container(server: &Server) {
    let mut client = server.reaper_client().await;
    let create = |path| Create::new(path, "", CreateFlags::CONTAINER);
    client.create(create(server.path("/a"))).await.unwrap();
    client.create2(create(server.path("/b"))).await.unwrap();
    for name in ["/a", "/b"] {
        use_once(&mut client, &server.path(name)).await;
    }
    until_containers_are_checked(&mut client, server).await;
    assert_eq!(client.children(&server.path("")).await, Ok(vec!["a".into(), "b".into()]));
}

async fn the_opcode_makes_a_container(server: &Server) {
    let mut client = server.reaper_client().await;
    for flags in [CreateFlags::PERSISTENT, CreateFlags::EPHEMERAL, CreateFlags::PERSISTENT_SEQUENTIAL] {
        let create = Create::new(server.path("/a"), "", flags);
        let path = client.created(Request::CreateContainer(create)).await.unwrap().0;
        use_once(&mut client, &path).await;
        until_gone(&mut client, &path).await;
    }
}

async fn a_multi_makes_containers_by_the_flag(server: &Server) {
    let mut client = server.reaper_client().await;
    let create = |path, flags| Op::Create(Create::new(path, "", flags));
    let ops = vec![
        create(server.path("/a"), CreateFlags::CONTAINER),
        Op::CreateContainer(Create::new(server.path("/b"), "", CreateFlags::PERSISTENT)),
    ];
    client.ask(Request::Multi(ops)).await.unwrap();
    for name in ["/a", "/b"] {
        use_once(&mut client, &server.path(name)).await;
    }
    until_gone(&mut client, &server.path("/a")).await;
    until_containers_are_checked(&mut client, server).await;
    assert_eq!(client.children(&server.path("")).await, Ok(vec!["b".into()]));
}

async fn a_container_that_went_is_created_again(server: &Server) {
    let mut client = server.reaper_client().await;
    for _ in 0..2 {
        client.created(container(&server.path("/a"))).await.unwrap();
        assert_eq!(client.stat(&server.path("/a")).await.unwrap().cversion, 0);
        use_once(&mut client, &server.path("/a")).await;
        until_gone(&mut client, &server.path("/a")).await;
    }
}
