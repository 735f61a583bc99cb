//! The state that a server keeps when it is killed: nodes, sessions, counters and statistics.

use rstest_reuse::apply;
use zklock_testkit::wire::{Acl, ConnectRequest, Create, CreateFlags, ErrorCode, Id, Request, permissions};

use crate::client::{Client, deleted};
use crate::on_both_kinds;
use crate::server::{Kind, Options, Server};

#[apply(on_both_kinds)]
async fn a_restart_changes_nothing(server: Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    assert_eq!(client.zxid().await, 1, "the first transaction is the session");
    client.create(Create::new("/a", "data", CreateFlags::PERSISTENT)).await.unwrap();
    client.set("/a", "other").await.unwrap();
    let acl = vec![Acl::new(permissions::ALL, Id::new("ip", "127.0.0.1"))];
    client.set_acl("/a", acl.clone()).await.unwrap();
    let container = Create::new("/c", "", CreateFlags::CONTAINER);
    client.created(Request::CreateContainer(container)).await.unwrap();
    let ephemeral = client.make_as("/a/e-", CreateFlags::EPHEMERAL_SEQUENTIAL).await;
    client.make_as("/a/s-", CreateFlags::PERSISTENT_SEQUENTIAL).await;
    client.delete("/a/s-0000000001").await.unwrap();
    client.watch_data("/a").await;
    let before = [client.data("/a").await, client.data(&ephemeral).await, client.data("/c").await];
    let zxid = client.zxid().await;
    let session = client.session().clone();
    own.restart().unwrap();
    client.is_closed().await;
    let request = ConnectRequest { last_zxid_seen: zxid, ..ConnectRequest::attach(&session) };
    let mut client = Client::connect(own.address(), request).await;
    assert_eq!(*client.session(), session);
    let after = [client.data("/a").await, client.data(&ephemeral).await, client.data("/c").await];
    assert_eq!(after, before);
    assert_eq!(client.acl("/a").await.unwrap().0, acl);
    assert_eq!(client.zxid().await, zxid);
    client.set("/a", "x").await.unwrap();
    assert_eq!(client.seen().await, [], "watches are gone");
    assert_eq!(client.zxid().await, zxid + 1);
    assert_eq!(client.make_as("/a/s-", CreateFlags::PERSISTENT_SEQUENTIAL).await, "/a/s-0000000002");
    let other = own.client().await;
    assert_ne!(other.session_id(), session.session_id);
    client.close().await;
    assert!(own.client().await.children("/a").await.unwrap() == ["s-0000000002"]);
}

#[apply(on_both_kinds)]
async fn sessions_have_their_timeout_again_after_a_restart(server: Server) {
    let own = server.own(&Options::default());
    let mut client = Client::connect(own.address(), ConnectRequest::with_timeout(4_000)).await;
    client.make_as("/a", CreateFlags::EPHEMERAL).await;
    let closed = own.client().await;
    let session = closed.session().clone();
    closed.close().await;
    own.restart().unwrap();
    let mut other = own.client().await;
    other.watch_exists("/a").await.unwrap();
    assert_eq!(other.event().await.unwrap(), deleted("/a"));
    let gone = crate::client::refusal(own.address(), ConnectRequest::attach(&session)).await;
    assert!(matches!(gone, zklock_testkit::conversation::ConversationError::NoSession(_)), "{gone:?}");
}

#[apply(on_both_kinds)]
async fn a_restart_keeps_the_statistics(server: Server) {
    let own = server.own(&Options::default());
    let mut client = own.client().await;
    let quota = "/zookeeper/quota/a";
    for path in ["/a", "/a/b", quota] {
        client.make(path).await;
    }
    for (name, data) in [("limits", "count=1000,bytes=1000"), ("stats", "")] {
        let path = format!("{quota}/zookeeper_{name}");
        client.create(Create::new(path, data, CreateFlags::PERSISTENT)).await.unwrap();
    }
    own.restart().unwrap();
    let mut client = own.client().await;
    client.make("/a/c").await;
    let statistics = client.data(&format!("{quota}/zookeeper_stats")).await.unwrap().0;
    assert_eq!(statistics.unwrap(), "count=3,bytes=0");
}

/// A client that relies on unique names, or on their order, must stop before the greatest value.
#[apply(on_both_kinds)]
async fn the_counter_of_sequential_names_has_32_bits(server: Server) {
    const NEXT: CreateFlags = CreateFlags::PERSISTENT_SEQUENTIAL;
    let own = server.own(&Options::default());
    own.client().await.make("/q").await;
    own.set_counter("/q", i32::MAX - 1);
    let mut client = own.client().await;
    assert_eq!(client.make_as("/q/a-", NEXT).await, "/q/a-2147483646");
    let last = client.make_as("/q/b-", NEXT).await;
    let stat = client.stat("/q").await.unwrap();
    assert_eq!((last.as_str(), stat.num_children), ("/q/b-2147483647", 2));
    assert_eq!(client.make_as("/q/c-", NEXT).await, "/q/c-2147483647");
    assert_eq!(client.create(Create::new("/q/b-", "", NEXT)).await, Err(ErrorCode::NODE_EXISTS));
    let after = client.stat("/q").await.unwrap();
    assert_eq!((after.pzxid, after.num_children), (stat.pzxid, 3), "only the number of children shows it");
    for (next, names) in [(i32::MIN, ["--2147483648", "--2147483647"]), (-5, ["--000000005", "--000000004"])]
    {
        own.set_counter("/q", next);
        let mut client = own.client().await;
        for name in names {
            assert_eq!(client.make_as("/q/a-", NEXT).await, format!("/q/a{name}"));
        }
    }
}
