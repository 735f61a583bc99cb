//! Creates that succeed, and creates that are refused.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode, Request};

use crate::case::cases;
use crate::server::Server;

cases! {
    the_opcode_of_containers_makes_nothing_ephemeral,
    the_opcode_of_containers_makes_sequential_nodes,
    times_to_live_are_unimplemented_unless_enabled,
    the_opcode_of_times_to_live_creates_nothing_that_lives_for_ever,
    unknown_flags_are_bad_arguments,
    null_data_stays_null,
    empty_data_stays_empty,
    data_is_kept,
    the_root_exists,
}

/// The stat does not show it, but the node outlives its session.
async fn the_opcode_of_containers_makes_nothing_ephemeral(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a"), "", CreateFlags::EPHEMERAL);
    let (path, stat) = client.created(Request::CreateContainer(create)).await.unwrap();
    assert_eq!((path.as_str(), stat.ephemeral_owner), (server.path("/a").as_str(), 0));
    client.close().await;
    assert!(server.client().await.stat(&path).await.is_ok());
}

async fn the_opcode_of_containers_makes_sequential_nodes(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a-"), "", CreateFlags::PERSISTENT_SEQUENTIAL);
    let (path, _) = client.created(Request::CreateContainer(create)).await.unwrap();
    assert_eq!(path, server.path("/a-0000000000"));
}

async fn times_to_live_are_unimplemented_unless_enabled(server: &Server) {
    let mut client = server.client().await;
    for flags in [CreateFlags::PERSISTENT_WITH_TTL, CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL] {
        let create = Create::new(server.path("/a"), "", flags);
        for request in [
            Request::Create(create.clone()),
            Request::Create2(create.clone()),
            Request::CreateContainer(create.clone()),
            Request::CreateTtl { create: create.clone(), ttl: 1000 },
            Request::CreateTtl { create, ttl: -1 },
        ] {
            assert_eq!(client.ask(request).await, Err(ErrorCode::UNIMPLEMENTED));
        }
    }
    assert_eq!(client.children(&server.path("")).await, Ok(vec![]));
}

async fn the_opcode_of_times_to_live_creates_nothing_that_lives_for_ever(server: &Server) {
    let mut client = server.client().await;
    for flags in [CreateFlags::PERSISTENT, CreateFlags::EPHEMERAL, CreateFlags::PERSISTENT_SEQUENTIAL] {
        let create = Create::new(server.path("/a"), "", flags);
        let request = Request::CreateTtl { create, ttl: 1000 };
        assert_eq!(client.ask(request).await, Err(ErrorCode::BAD_ARGUMENTS));
    }
}

async fn unknown_flags_are_bad_arguments(server: &Server) {
    let mut client = server.client().await;
    for flags in [-1, 7, 8, i32::MIN, i32::MAX] {
        let create = Create::new(server.path("/a"), "", CreateFlags(flags));
        assert_eq!(client.create(create.clone()).await, Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!(client.create2(create).await, Err(ErrorCode::BAD_ARGUMENTS));
    }
    let absent = Create::new(server.path("/no/a"), "", CreateFlags(7));
    assert_eq!(client.create(absent).await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn null_data_stays_null(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    let create = Create { data: None, ..Create::new(&path, "", CreateFlags::PERSISTENT) };
    client.create(create).await.unwrap();
    let (data, stat) = client.data(&path).await.unwrap();
    assert_eq!((data, stat.data_length), (None, 0));
}

async fn empty_data_stays_empty(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    let (data, stat) = client.data(&path).await.unwrap();
    assert_eq!((data.as_deref(), stat.data_length), (Some(&b""[..]), 0));
}

async fn data_is_kept(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    let bytes: Vec<u8> = (0..=255).collect();
    client.create(Create::new(&path, bytes.clone(), CreateFlags::EPHEMERAL)).await.unwrap();
    let (data, stat) = client.data(&path).await.unwrap();
    assert_eq!((data.unwrap().to_vec(), stat.data_length), (bytes, 256));
}

async fn the_root_exists(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new("/", "", CreateFlags::PERSISTENT);
    assert_eq!(client.create(create).await, Err(ErrorCode::NODE_EXISTS));
    assert!(client.children("/").await.unwrap().contains(&"zookeeper".to_owned()));
    assert_eq!(client.data("/").await.unwrap().0.as_deref(), Some(&b""[..]));
}
