//! Nodes that are created, read and replaced, as far as random scripts do not ask for it.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode, Op, Request, Response, SetData};

use crate::case::cases;
use crate::client::stat_of;
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
    all_descendants_are_counted,
    ephemerals_are_told_to_their_session_alone,
    ephemerals_are_told_below_a_prefix_of_characters,
    reads_in_one_request_set_no_watches,
    writes_among_reads_are_malformed,
    a_sync_tells_its_path,
    data_becomes_null,
    the_root_has_data_too,
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

async fn all_descendants_are_counted(server: &Server) {
    let mut client = server.client().await;
    for name in ["/a", "/a/b", "/a/b/c", "/ab", "/ab/c"] {
        client.make(&server.path(name)).await;
    }
    for (name, count) in [("", 5), ("/a", 2), ("/a/b", 1), ("/a/b/c", 0)] {
        let answer = client.ask(Request::GetAllChildrenNumber { path: server.path(name) }).await;
        assert_eq!(answer, Ok(Response::Count(count)), "{name}");
    }
}

async fn ephemerals_are_told_to_their_session_alone(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    one.make_as(&server.path("/b-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    one.make(&server.path("/c")).await;
    other.make_as(&server.path("/d"), CreateFlags::EPHEMERAL).await;
    for prefix in ["", " ", "/", " / "] {
        let answer = one.ask(Request::GetEphemerals { prefix: prefix.into() }).await;
        let Ok(Response::Ephemerals(mut paths)) = answer else { panic!("{answer:?}") };
        paths.sort();
        assert_eq!(paths, [server.path("/a"), server.path("/b-0000000001")]);
    }
    let answer = other.ask(Request::GetEphemerals { prefix: "/".into() }).await;
    assert_eq!(answer, Ok(Response::Ephemerals(vec![server.path("/d")])));
    one.delete(&server.path("/d")).await.unwrap();
    let answer = other.ask(Request::GetEphemerals { prefix: "/".into() }).await;
    assert_eq!(answer, Ok(Response::Ephemerals(vec![])));
}

async fn ephemerals_are_told_below_a_prefix_of_characters(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/ab"), CreateFlags::EPHEMERAL).await;
    for (prefix, found) in [("/a", true), ("/ab", true), ("/ab/", false), ("/b", false)] {
        let answer = client.ask(Request::GetEphemerals { prefix: server.path(prefix) }).await;
        let expected = found.then(|| server.path("/ab")).into_iter().collect();
        assert_eq!(answer, Ok(Response::Ephemerals(expected)), "{prefix}");
    }
}

fn read(path: String) -> Op {
    Op::GetData { path, watch: true }
}

fn list(path: String) -> Op {
    Op::GetChildren { path, watch: true }
}

async fn reads_in_one_request_set_no_watches(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let ops = vec![read(server.path("/a")), list(server.path(""))];
    client.ask(Request::MultiRead(ops)).await.unwrap();
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.seen().await, []);
}

async fn writes_among_reads_are_malformed(server: &Server) {
    let mut client = server.client().await;
    let check = zklock_testkit::wire::CheckVersion { path: server.path(""), version: 0 };
    for ops in [vec![Op::Check(check.clone())], vec![read(server.path("")), Op::Check(check.clone())]] {
        assert_eq!(client.ask(Request::MultiRead(ops)).await, Err(ErrorCode::MARSHALLING_ERROR));
    }
    for ops in [vec![read(server.path(""))], vec![Op::Check(check), read(server.path(""))]] {
        assert_eq!(client.ask(Request::Multi(ops)).await, Err(ErrorCode::MARSHALLING_ERROR));
    }
    assert!(client.stat(&server.path("")).await.is_ok());
}

async fn a_sync_tells_its_path(server: &Server) {
    let mut client = server.client().await;
    for path in ["/", "/no", "", "no path"] {
        let answer = client.ask(Request::Sync { path: path.into() }).await;
        assert_eq!(answer, Ok(Response::Path(path.into())));
    }
}

async fn data_becomes_null(server: &Server) {
    let mut client = server.client().await;
    let path = server.path("/a");
    client.make(&path).await;
    client.set(&path, "x").await.unwrap();
    let set = SetData { path: path.clone(), data: None, version: -1 };
    let stat = client.ask(Request::SetData(set)).await.map(stat_of).unwrap();
    assert_eq!((stat.data_length, stat.version), (0, 2));
    assert_eq!(client.data(&path).await, Ok((None, stat)));
}

async fn the_root_has_data_too(server: &Server) {
    let mut client = server.client().await;
    let before = client.data("/").await.unwrap();
    let stat = client.set("/", "").await.unwrap();
    assert_eq!(stat.version, before.1.version + 1);
    assert_eq!((before.1.czxid, before.1.ctime), (0, 0));
}
