//! The counter at the end of a sequential name.

use zklock_testkit::wire::{CheckVersion, Create, CreateFlags, ErrorCode, Op, Request, Response};

use crate::case::cases;
use crate::client::Client;
use crate::server::{Options, Server};

cases! {
    it_has_ten_digits_and_starts_at_zero,
    all_prefixes_and_modes_share_it,
    children_without_a_counter_count,
    deletions_do_not_count,
    failures_do_not_count,
    changes_of_data_do_not_count,
    grandchildren_do_not_count,
    it_starts_again_with_a_new_parent,
    it_goes_on_when_all_children_are_gone,
    sessions_share_it,
    the_name_may_be_the_counter_alone,
    a_name_that_exists_is_not_skipped,
    a_multi_counts_each_of_its_creates,
    a_failed_multi_does_not_count,
    a_failed_multi_that_is_pipelined_does_not_count,
    it_stops_at_its_greatest_value,
    it_has_eleven_characters_at_its_least_value,
}

const NEXT: CreateFlags = CreateFlags::PERSISTENT_SEQUENTIAL;

async fn next(client: &mut Client, server: &Server) -> String {
    let path = client.make_as(&server.path("/n-"), NEXT).await;
    path.rsplit_once("/n-").unwrap().1.to_owned()
}

async fn it_has_ten_digits_and_starts_at_zero(server: &Server) {
    let mut client = server.client().await;
    for expected in ["0000000000", "0000000001", "0000000002"] {
        assert_eq!(next(&mut client, server).await, expected);
    }
}

async fn all_prefixes_and_modes_share_it(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(client.make_as(&server.path("/a-"), NEXT).await, server.path("/a-0000000000"));
    let ephemeral = client.make_as(&server.path("/b-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    assert_eq!(ephemeral, server.path("/b-0000000001"));
    let create = Create::new(server.path("/c-"), "", NEXT);
    assert_eq!(client.create2(create.clone()).await.unwrap().0, server.path("/c-0000000002"));
    let container = client.created(Request::CreateContainer(create)).await.unwrap().0;
    assert_eq!(container, server.path("/c-0000000003"));
}

async fn children_without_a_counter_count(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make_as(&server.path("/b"), CreateFlags::EPHEMERAL).await;
    let container = Create::new(server.path("/c"), "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(container)).await.unwrap();
    assert_eq!(next(&mut client, server).await, "0000000003");
}

/// Deletions do count in the `cversion` of a stat, which therefore does not show the counter.
async fn deletions_do_not_count(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/b")).await;
    client.delete(&server.path("/a")).await.unwrap();
    assert_eq!(client.stat(&server.path("")).await.unwrap().cversion, 3);
    assert_eq!(next(&mut client, server).await, "0000000002");
    client.delete(&server.path("/b")).await.unwrap();
    assert_eq!(client.stat(&server.path("")).await.unwrap().cversion, 5);
    assert_eq!(next(&mut client, server).await, "0000000003");
}

async fn failures_do_not_count(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let again = Create::new(server.path("/a"), "", CreateFlags::PERSISTENT);
    assert_eq!(client.create(again).await, Err(ErrorCode::NODE_EXISTS));
    let bad = Create { acl: vec![], ..Create::new(server.path("/b-"), "", NEXT) };
    assert_eq!(client.create(bad).await, Err(ErrorCode::INVALID_ACL));
    assert_eq!(client.delete(&server.path("/no")).await, Err(ErrorCode::NO_NODE));
    assert_eq!(next(&mut client, server).await, "0000000001");
}

async fn changes_of_data_do_not_count(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.set(&server.path(""), "x").await.unwrap();
    client.set(&server.path("/a"), "x").await.unwrap();
    assert_eq!(next(&mut client, server).await, "0000000001");
}

async fn grandchildren_do_not_count(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    client.make(&server.path("/a/b")).await;
    assert_eq!(next(&mut client, server).await, "0000000001");
}

async fn it_starts_again_with_a_new_parent(server: &Server) {
    let mut client = server.client().await;
    for _ in 0..2 {
        client.make(&server.path("/a")).await;
        let child = client.make_as(&server.path("/a/"), NEXT).await;
        assert_eq!(child, server.path("/a/0000000000"));
        client.delete(&child).await.unwrap();
        client.delete(&server.path("/a")).await.unwrap();
    }
}

async fn it_goes_on_when_all_children_are_gone(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.make_as(&server.path("/n-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    one.make_as(&server.path("/n-"), CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    one.close().await;
    let (children, stat) = other.children2(&server.path("")).await.unwrap();
    assert_eq!((children, stat.cversion), (vec![], 4));
    assert_eq!(next(&mut other, server).await, "0000000002");
}

async fn sessions_share_it(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    assert_eq!(next(&mut one, server).await, "0000000000");
    assert_eq!(next(&mut other, server).await, "0000000001");
    assert_eq!(next(&mut one, server).await, "0000000002");
}

async fn the_name_may_be_the_counter_alone(server: &Server) {
    let mut client = server.client().await;
    for name in ["/", "/.", "/.."] {
        let number = client.stat(&server.path("")).await.unwrap().cversion;
        let path = client.make_as(&server.path(name), NEXT).await;
        assert_eq!(path, server.path(&format!("{name}{number:010}")));
    }
}

async fn a_name_that_exists_is_not_skipped(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/n-0000000001")).await;
    let taken = Create::new(server.path("/n-"), "", NEXT);
    assert_eq!(client.create(taken).await, Err(ErrorCode::NODE_EXISTS));
    client.make(&server.path("/a")).await;
    assert_eq!(next(&mut client, server).await, "0000000002");
}

async fn a_multi_counts_each_of_its_creates(server: &Server) {
    let mut client = server.client().await;
    let create = |name| Op::Create(Create::new(server.path(name), "", NEXT));
    let answer = client.ask(Request::Multi(vec![create("/a-"), create("/b-")])).await;
    let paths = ["/a-0000000000", "/b-0000000001"];
    let paths = paths.map(|path| zklock_testkit::wire::OpResult::Created(server.path(path)));
    assert_eq!(answer, Ok(Response::Multi(paths.to_vec())));
    assert_eq!(next(&mut client, server).await, "0000000002");
}

fn failing(server: &Server) -> Request {
    Request::Multi(vec![
        Op::Create(Create::new(server.path("/a-"), "", NEXT)),
        Op::Check(CheckVersion { path: server.path("/no"), version: -1 }),
    ])
}

async fn a_failed_multi_does_not_count(server: &Server) {
    let mut client = server.client().await;
    client.ask(failing(server)).await.unwrap();
    assert_eq!(next(&mut client, server).await, "0000000000");
    assert_eq!(client.stat(&server.path("")).await.unwrap().cversion, 1);
}

async fn a_failed_multi_that_is_pipelined_does_not_count(server: &Server) {
    let mut client = server.client().await;
    let create = || Request::Create(Create::new(server.path("/n-"), "", NEXT));
    let mut sent = Vec::new();
    for request in [create(), failing(server), create()] {
        sent.push(client.send(request).await.unwrap());
    }
    let mut answers = Vec::new();
    for xid in sent {
        answers.push(client.reply(xid).await.unwrap().outcome);
    }
    assert_eq!(answers[0], Ok(Response::Path(server.path("/n-0000000000"))));
    assert_eq!(answers[2], Ok(Response::Path(server.path("/n-0000000001"))));
}

/// A client that relies on unique names, or on their order, must stop before this value.
async fn it_stops_at_its_greatest_value(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    client.make("/q").await;
    client.close().await;
    own.set_counter("/q", i32::MAX - 1);
    let mut client = own.client().await;
    assert_eq!(client.make_as("/q/a-", NEXT).await, "/q/a-2147483646");
    let last = client.make_as("/q/b-", NEXT).await;
    let stat = client.stat("/q").await.unwrap();
    assert_eq!((last.as_str(), stat.num_children), ("/q/b-2147483647", 2));
    assert_eq!(client.make_as("/q/c-", NEXT).await, "/q/c-2147483647");
    assert_eq!(client.create(Create::new("/q/b-", "", NEXT)).await, Err(ErrorCode::NODE_EXISTS));
    let after = client.stat("/q").await.unwrap();
    assert_eq!(
        (after.pzxid, after.num_children),
        (stat.pzxid, 3),
        "the parent looks unchanged but for the child"
    );
}

async fn it_has_eleven_characters_at_its_least_value(server: &Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    client.make("/q").await;
    client.close().await;
    own.set_counter("/q", i32::MIN);
    let mut client = own.client().await;
    assert_eq!(client.make_as("/q/a-", NEXT).await, "/q/a--2147483648");
    assert_eq!(client.make_as("/q/a-", NEXT).await, "/q/a--2147483647");
    client.close().await;
    own.set_counter("/q", -5);
    let mut client = own.client().await;
    assert_eq!(client.make_as("/q/a-", NEXT).await, "/q/a--000000005");
}
