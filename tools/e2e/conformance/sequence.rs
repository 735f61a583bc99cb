//! The counter at the end of a sequential name.

use zklock_testkit::wire::{Create, CreateFlags, ErrorCode};

use crate::case::cases;
use crate::client::Client;
use crate::server::{Options, Server};

cases! {
    failures_do_not_count,
    the_name_may_be_the_counter_alone,
    it_stops_at_its_greatest_value,
    it_has_eleven_characters_at_its_least_value,
}

const NEXT: CreateFlags = CreateFlags::PERSISTENT_SEQUENTIAL;

async fn next(client: &mut Client, server: &Server) -> String {
    let path = client.make_as(&server.path("/n-"), NEXT).await;
    path.rsplit_once("/n-").unwrap().1.to_owned()
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

async fn the_name_may_be_the_counter_alone(server: &Server) {
    let mut client = server.client().await;
    for name in ["/", "/.", "/.."] {
        let number = client.stat(&server.path("")).await.unwrap().cversion;
        let path = client.make_as(&server.path(name), NEXT).await;
        assert_eq!(path, server.path(&format!("{name}{number:010}")));
    }
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
