//! Identities, and what a server does only if it is configured to.

use bytes::Bytes;
use rstest_reuse::apply;
use zklock_testkit::conversation::Message;
use zklock_testkit::wire::{Acl, Create, CreateFlags, ErrorCode, Id, Opcode, Request, Writer, permissions};

use crate::client::{Client, world};
use crate::on_both_kinds;
use crate::server::{Kind, Server};

#[apply(on_both_kinds)]
async fn an_acl_is_kept_in_its_order(server: Server) {
    let mut client = server.client().await;
    let acl = vec![
        Acl::new(permissions::READ, Id::new("ip", "10.0.0.0/8")),
        world(permissions::READ | permissions::ADMIN),
        Acl::new(permissions::WRITE, Id::new("digest", "user:hash")),
        Acl::new(permissions::READ, Id::new("ip", "127.0.0.1")),
    ];
    client.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, acl);
}

fn auth(scheme: &str, auth: Option<&'static str>) -> Request {
    Request::Auth { scheme: scheme.into(), auth: auth.map(Bytes::from) }
}

#[apply(on_both_kinds)]
async fn a_failed_proof_ends_the_connection_but_not_the_session(server: Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    let mut null_scheme = Writer::default();
    null_scheme.int(0);
    null_scheme.buffer(None);
    null_scheme.buffer(Some(b"user:password"));
    let others = ["unknown", "world", "auth", "super", ""].map(|scheme| auth(scheme, Some("anyone")));
    let null_scheme = Request::Unknown { opcode: Opcode::AUTH, body: null_scheme.finish() };
    for request in [auth("digest", None)].into_iter().chain(others).chain([null_scheme]) {
        let reply = client.full(request).await;
        assert_eq!((reply.zxid, reply.outcome), (0, Err(ErrorCode::AUTH_FAILED)));
        client.is_closed().await;
        client = Client::attach(server.address(), &client.abandon()).await;
    }
    let owner = client.stat(&server.path("/a")).await.unwrap().ephemeral_owner;
    assert_eq!(owner, client.session_id());
}

/// The server may answer it before earlier requests, so that only its effect has an order.
#[apply(on_both_kinds)]
async fn an_identity_counts_for_what_follows(server: Server) {
    let mut client = server.client().await;
    // `base64(sha1("user:password"))`.
    let user = Id::new("digest", "user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY=");
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, user)]).await;
    let get = || Request::GetData { path: server.path("/a"), watch: false };
    let before = client.send(get()).await.unwrap();
    client.send(auth("digest", Some("user:password"))).await.unwrap();
    let after = client.send(get()).await.unwrap();
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        match client.receive().await.unwrap() {
            Message::Reply(reply) => outcomes.push((reply.xid, reply.outcome.is_ok())),
            Message::Event(event) => panic!("{event:?}"),
        }
    }
    assert!(outcomes.contains(&(before, false)) && outcomes.contains(&(after, true)), "{outcomes:?}");
}

#[apply(on_both_kinds)]
async fn times_to_live_and_the_superuser_are_absent_unless_configured(server: Server) {
    let mut client = server.client().await;
    for flags in [CreateFlags::PERSISTENT_WITH_TTL, CreateFlags::PERSISTENT_SEQUENTIAL_WITH_TTL] {
        let create = || Create::new(server.path("/a"), "", flags);
        for request in [
            Request::Create(create()),
            Request::Create2(create()),
            Request::CreateContainer(create()),
            Request::CreateTtl { create: create(), ttl: 1000 },
            Request::CreateTtl { create: create(), ttl: -1 },
        ] {
            assert_eq!(client.ask(request).await, Err(ErrorCode::UNIMPLEMENTED));
        }
    }
    client.make_for(&server.path("/b"), vec![world(0)]).await;
    client.authenticate("super", "admin").await;
    assert_eq!(client.data(&server.path("/b")).await, Err(ErrorCode::NO_AUTH));
}
