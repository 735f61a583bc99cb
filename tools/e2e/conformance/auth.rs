//! The identities of a connection.

use bytes::Bytes;
use zklock_testkit::conversation::{Message, Reply};
use zklock_testkit::wire::{
    Acl, ClientInfo, Create, CreateFlags, ErrorCode, Id, Opcode, Request, Response, permissions, xid,
};

use crate::case::cases;
use crate::client::{Client, world};
use crate::server::Server;

cases! {
    a_connection_is_known_by_its_address,
    a_digest_is_told_by_the_name_of_its_user,
    a_digest_opens_its_nodes,
    another_password_is_another_identity,
    identities_add_up,
    a_digest_needs_no_password,
    a_digest_needs_a_proof,
    an_identity_is_of_the_connection,
    the_owner_of_a_node_is_who_created_it,
    every_identity_that_was_proven_owns_a_node,
    an_address_proves_nothing,
    an_address_opens_nodes_of_its_network,
    the_same_acl_is_stored_for_auth_set_later,
    hashes_are_hidden_from_all_but_administrators,
    an_unknown_scheme_ends_the_connection,
    world_is_no_scheme_to_prove,
    a_failed_proof_does_not_end_the_session,
    an_identity_is_answered_with_no_transaction,
    an_identity_counts_for_what_follows,
    a_login_to_a_server_without_users_is_accepted_and_adds_nobody,
}

/// `base64(sha1("user:password"))`.
const HASH: &str = "tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY=";

fn digest() -> Id {
    Id::new("digest", format!("user:{HASH}"))
}

fn auth(scheme: &str, auth: &'static str) -> Request {
    Request::Auth { scheme: scheme.into(), auth: Some(Bytes::from_static(auth.as_bytes())) }
}

async fn identities(client: &mut Client) -> Vec<(String, String)> {
    let answer = client.ask(Request::WhoAmI).await;
    let Ok(Response::WhoAmI(infos)) = answer else { panic!("{answer:?}") };
    let mut identities: Vec<_> =
        infos.into_iter().map(|ClientInfo { scheme, user }| (scheme, user)).collect();
    identities.sort();
    identities
}

async fn a_connection_is_known_by_its_address(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(identities(&mut client).await, [("ip".into(), "127.0.0.1".into())]);
}

async fn a_login_to_a_server_without_users_is_accepted_and_adds_nobody(server: &Server) {
    let mut client = server.client().await;
    let empty = Bytes::from_static(&[0; 4]);
    let login = Request::Unknown { opcode: Opcode::SASL, body: empty };
    assert_eq!(client.ask(login).await, Ok(Response::Token(None)));
    assert_eq!(identities(&mut client).await, [("ip".into(), "127.0.0.1".into())]);
}

async fn a_digest_is_told_by_the_name_of_its_user(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("user", "password").await;
    client.authenticate("other", "password").await;
    client.authenticate("user", "password").await;
    let identities = identities(&mut client).await;
    let expected = [("digest", "other"), ("digest", "user"), ("ip", "127.0.0.1")];
    assert_eq!(identities, expected.map(|(scheme, user)| (scheme.to_owned(), user.to_owned())));
}

async fn a_digest_opens_its_nodes(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, digest())]).await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
    client.authenticate("user", "password").await;
    assert!(client.data(&server.path("/a")).await.is_ok());
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, [Acl::new(permissions::ALL, digest())]);
}

async fn another_password_is_another_identity(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, digest())]).await;
    client.authenticate("user", "other").await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
}

async fn identities_add_up(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("other", "password").await;
    client.authenticate("user", "password").await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::READ, digest())]).await;
    assert!(client.data(&server.path("/a")).await.is_ok());
}

async fn a_digest_needs_no_password(server: &Server) {
    let mut client = server.client().await;
    for proof in ["user", "", ":", "user:a:b"] {
        assert_eq!(client.ask(auth("digest", proof)).await, Ok(Response::Empty), "{proof:?}");
    }
    let users: Vec<String> = identities(&mut client).await.into_iter().map(|(_, user)| user).collect();
    assert_eq!(users, ["", "", "user", "user", "127.0.0.1"]);
}

async fn a_digest_needs_a_proof(server: &Server) {
    let mut client = server.client().await;
    assert_failed(&mut client, Request::Auth { scheme: "digest".into(), auth: None }).await;
}

async fn an_identity_is_of_the_connection(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("user", "password").await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, digest())]).await;
    let session = client.abandon();
    let mut client = Client::attach(server.address(), &session).await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
    client.authenticate("user", "password").await;
    assert!(client.data(&server.path("/a")).await.is_ok());
}

async fn the_owner_of_a_node_is_who_created_it(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("user", "password").await;
    let line = Acl::new(permissions::READ | permissions::ADMIN, Id::new("auth", ""));
    client.make_for(&server.path("/a"), vec![line]).await;
    let expected = Acl::new(permissions::READ | permissions::ADMIN, digest());
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, [expected]);
}

async fn every_identity_that_was_proven_owns_a_node(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("user", "password").await;
    client.authenticate("other", "password").await;
    let acl = vec![world(permissions::READ), Acl::new(permissions::ALL, Id::new("auth", "ignored"))];
    client.make_for(&server.path("/a"), acl).await;
    let stored = client.acl(&server.path("/a")).await.unwrap().0;
    assert_eq!(stored.len(), 3);
    assert_eq!(stored[0], world(permissions::READ));
    assert!(stored.contains(&Acl::new(permissions::ALL, digest())));
    assert!(stored[1..].iter().all(|line| line.permissions == permissions::ALL));
    assert!(stored.iter().any(|line| line.id.id.as_deref().is_some_and(|id| id.starts_with("other:"))));
}

async fn an_address_proves_nothing(server: &Server) {
    let mut client = server.client().await;
    let acl = vec![Acl::new(permissions::ALL, Id::new("auth", ""))];
    let create = Create { acl, ..Create::new(server.path("/a"), "", CreateFlags::PERSISTENT) };
    assert_eq!(client.create(create).await, Err(ErrorCode::INVALID_ACL));
    assert_eq!(client.ask(auth("ip", "")).await, Ok(Response::Empty));
    assert_eq!(identities(&mut client).await, [("ip".into(), "127.0.0.1".into())]);
}

async fn an_address_opens_nodes_of_its_network(server: &Server) {
    let mut client = server.client().await;
    let networks = [
        ("127.0.0.1", true),
        ("127.0.0.1/32", true),
        ("127.1.2.3/8", true),
        ("1.2.3.4/0", true),
        ("127.0.0.2", false),
        ("127.0.0.2/31", false),
        ("127.0.0.2/30", true),
        ("126.0.0.0/7", true),
        ("128.0.0.0/8", false),
    ];
    for (index, (network, open)) in networks.into_iter().enumerate() {
        let path = server.path(&format!("/{index}"));
        client.make_for(&path, vec![Acl::new(permissions::READ, Id::new("ip", network))]).await;
        let expected = if open { Ok(()) } else { Err(ErrorCode::NO_AUTH) };
        assert_eq!(client.data(&path).await.map(|_| ()), expected, "{network}");
    }
}

async fn the_same_acl_is_stored_for_auth_set_later(server: &Server) {
    let mut client = server.client().await;
    client.make(&server.path("/a")).await;
    let acl = vec![Acl::new(permissions::ALL, Id::new("auth", ""))];
    assert_eq!(client.set_acl(&server.path("/a"), acl.clone()).await, Err(ErrorCode::INVALID_ACL));
    client.authenticate("user", "password").await;
    assert_eq!(client.set_acl(&server.path("/a"), acl).await.unwrap().aversion, 1);
    assert_eq!(client.acl(&server.path("/a")).await.unwrap().0, [Acl::new(permissions::ALL, digest())]);
}

async fn hashes_are_hidden_from_all_but_administrators(server: &Server) {
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.authenticate("user", "password").await;
    let acl = vec![
        Acl::new(permissions::ALL, digest()),
        world(permissions::READ),
        Acl::new(permissions::ALL, Id::new("ip", "10.0.0.1")),
    ];
    one.make_for(&server.path("/a"), acl.clone()).await;
    assert_eq!(one.acl(&server.path("/a")).await.unwrap().0, acl);
    let hidden = Acl::new(permissions::ALL, Id::new("digest", "user:x"));
    let expected = [hidden, acl[1].clone(), acl[2].clone()];
    assert_eq!(other.acl(&server.path("/a")).await.unwrap().0, expected);
}

async fn assert_failed(client: &mut Client, request: Request) {
    let reply = client.full(request).await;
    let expected = Reply { xid: xid::AUTH, zxid: 0, outcome: Err(ErrorCode::AUTH_FAILED) };
    assert_eq!(reply, expected);
    client.is_closed().await;
}

async fn an_unknown_scheme_ends_the_connection(server: &Server) {
    let mut client = server.client().await;
    assert_failed(&mut client, auth("unknown", "x")).await;
}

async fn world_is_no_scheme_to_prove(server: &Server) {
    for scheme in ["world", "auth", "super", ""] {
        let mut client = server.client().await;
        assert_failed(&mut client, auth(scheme, "anyone")).await;
    }
}

async fn a_failed_proof_does_not_end_the_session(server: &Server) {
    let mut client = server.client().await;
    client.make_as(&server.path("/a"), CreateFlags::EPHEMERAL).await;
    assert_failed(&mut client, auth("unknown", "x")).await;
    let session = client.abandon();
    let mut client = Client::attach(server.address(), &session).await;
    assert_eq!(client.stat(&server.path("/a")).await.unwrap().ephemeral_owner, session.session_id);
}

async fn an_identity_is_answered_with_no_transaction(server: &Server) {
    let mut client = server.client().await;
    let reply = client.full(auth("digest", "user:password")).await;
    assert_eq!(reply, Reply { xid: xid::AUTH, zxid: 0, outcome: Ok(Response::Empty) });
}

/// The server may answer it before earlier requests, so that only its effect has an order.
async fn an_identity_counts_for_what_follows(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![Acl::new(permissions::ALL, digest())]).await;
    let get = || Request::GetData { path: server.path("/a"), watch: false };
    let before = client.send(get()).await.unwrap();
    client.send(auth("digest", "user:password")).await.unwrap();
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
