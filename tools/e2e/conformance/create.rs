//! Creates that succeed, and creates that are refused.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode, Request, Response, Stat};

use crate::case::cases;
use crate::server::Server;

cases! {
    a_new_node_has_a_new_stat,
    an_ephemeral_node_names_its_owner,
    a_sequential_node_tells_its_path,
    an_ephemeral_sequential_node_is_both,
    a_container_has_no_owner,
    the_opcode_of_containers_makes_nothing_ephemeral,
    the_opcode_of_containers_makes_sequential_nodes,
    times_to_live_are_unimplemented_unless_enabled,
    the_opcode_of_times_to_live_creates_nothing_that_lives_for_ever,
    unknown_flags_are_bad_arguments,
    null_data_stays_null,
    empty_data_stays_empty,
    data_is_kept,
    a_node_is_created_once,
    an_ephemeral_node_is_not_taken_over,
    a_parent_must_exist,
    an_ephemeral_node_has_no_children,
    a_bad_path_matters_more_than_an_ephemeral_parent,
    a_container_may_have_children,
    the_root_exists,
    create_and_create2_do_the_same,
}

async fn a_new_node_has_a_new_stat(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    let create = Create::new(&path, "four", CreateFlags::PERSISTENT);
    let reply = client.full(Request::Create2(create)).await;
    let stat = client.stat(&path).await.unwrap();
    assert_eq!(reply.outcome, Ok(Response::Created { path, stat }));
    assert_eq!(stat.czxid, reply.zxid);
    let expected = Stat {
        czxid: stat.czxid,
        mzxid: stat.czxid,
        pzxid: stat.czxid,
        ctime: stat.ctime,
        mtime: stat.ctime,
        data_length: 4,
        ..Stat::default()
    };
    assert_eq!(stat, expected);
    assert!(stat.ctime > 1_600_000_000_000, "milliseconds since 1970");
}

async fn an_ephemeral_node_names_its_owner(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a"), "", CreateFlags::EPHEMERAL);
    let (_, stat) = client.create2(create).await.unwrap();
    assert_eq!(stat.ephemeral_owner, client.session_id());
}

async fn a_sequential_node_tells_its_path(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a-"), "", CreateFlags::PERSISTENT_SEQUENTIAL);
    let (path, stat) = client.create2(create).await.unwrap();
    assert_eq!(path, server.path("/a-0000000000"));
    assert_eq!(client.stat(&path).await, Ok(stat));
    assert_eq!(stat.ephemeral_owner, 0);
    assert_eq!(client.stat(&server.path("/a-")).await, Err(ErrorCode::NO_NODE));
}

async fn an_ephemeral_sequential_node_is_both(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a-"), "", CreateFlags::EPHEMERAL_SEQUENTIAL);
    let (path, stat) = client.create2(create).await.unwrap();
    assert_eq!(path, server.path("/a-0000000000"));
    assert_eq!(stat.ephemeral_owner, client.session_id());
}

async fn a_container_has_no_owner(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new(server.path("/a"), "data", CreateFlags::CONTAINER);
    let (path, stat) = client.created(Request::CreateContainer(create)).await.unwrap();
    assert_eq!((path.as_str(), stat.ephemeral_owner), (server.path("/a").as_str(), 0));
    assert_eq!(client.stat(&path).await, Ok(stat));
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

async fn a_node_is_created_once(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    let before = client.data(&path).await;
    for flags in [0, 1, 4] {
        let again = Create::new(&path, "other", CreateFlags(flags));
        assert_eq!(client.create(again.clone()).await, Err(ErrorCode::NODE_EXISTS));
        assert_eq!(client.create2(again.clone()).await, Err(ErrorCode::NODE_EXISTS));
        let container = client.created(Request::CreateContainer(again)).await;
        assert_eq!(container, Err(ErrorCode::NODE_EXISTS));
    }
    assert_eq!(client.data(&path).await, before);
}

async fn an_ephemeral_node_is_not_taken_over(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    let path = server.path("/a");
    one.make_as(&path, CreateFlags::EPHEMERAL).await;
    let again = Create::new(&path, "", CreateFlags::EPHEMERAL);
    assert_eq!(other.create(again.clone()).await, Err(ErrorCode::NODE_EXISTS));
    assert_eq!(one.create(again).await, Err(ErrorCode::NODE_EXISTS));
    assert_eq!(one.stat(&path).await.unwrap().ephemeral_owner, one.session_id());
}

async fn a_parent_must_exist(server: &Server) {
    let mut client = server.client().await;
    for flags in 0..=4 {
        let create = Create::new(server.path("/no/a"), "", CreateFlags(flags));
        assert_eq!(client.create(create).await, Err(ErrorCode::NO_NODE));
    }
}

async fn an_ephemeral_node_has_no_children(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make_as(&path, CreateFlags::EPHEMERAL).await;
    for flags in 0..=4 {
        let create = Create::new(server.path("/a/b"), "", CreateFlags(flags));
        let answer = client.create(create).await;
        assert_eq!(answer, Err(ErrorCode::NO_CHILDREN_FOR_EPHEMERALS));
    }
    assert_eq!(client.stat(&path).await.unwrap().cversion, 0);
}

async fn a_bad_path_matters_more_than_an_ephemeral_parent(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let bad = Create::new(server.path("/a/"), "", CreateFlags::PERSISTENT);
    assert_eq!(client.create(bad).await, Err(ErrorCode::BAD_ARGUMENTS));
}

async fn a_container_may_have_children(server: &Server) {
    let mut client = server.client().await;
    let container = Create::new(server.path("/a"), "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(container)).await.unwrap();
    client.make_as(&server.path("/a/b"), CreateFlags::EPHEMERAL).await;
    let stat = client.stat(&server.path("/a")).await.unwrap();
    assert_eq!((stat.cversion, stat.num_children), (1, 1));
}

async fn the_root_exists(server: &Server) {
    let mut client = server.client().await;
    let create = Create::new("/", "", CreateFlags::PERSISTENT);
    assert_eq!(client.create(create).await, Err(ErrorCode::NODE_EXISTS));
    assert!(client.children("/").await.unwrap().contains(&"zookeeper".to_owned()));
    assert_eq!(client.data("/").await.unwrap().0.as_deref(), Some(&b""[..]));
}

async fn create_and_create2_do_the_same(server: &Server) {
    let mut client = server.client().await;
    for flags in 0..=3 {
        let path = server.path(&format!("/a{flags}-"));
        let first = client.create(Create::new(&path, "x", CreateFlags(flags))).await.unwrap();
        let first = client.stat(&first).await.unwrap();
        let path = server.path(&format!("/b{flags}-"));
        let (_, second) = client.create2(Create::new(&path, "x", CreateFlags(flags))).await.unwrap();
        let timeless = |stat: Stat| Stat { czxid: 0, mzxid: 0, pzxid: 0, ctime: 0, mtime: 0, ..stat };
        assert_eq!(timeless(first), timeless(second));
    }
}
