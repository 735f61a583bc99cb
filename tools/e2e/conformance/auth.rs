//! The identities of a connection.

use bytes::Bytes;
use zklock_testkit::conversation::{Message, Reply};
use zklock_testkit::wire::{
    Acl, ClientInfo, Create, CreateFlags, ErrorCode, Id, Opcode, Request, Response, permissions, xid,
};

use crate::case::cases;
use crate::client::Client;
use crate::server::Server;

cases! {
    a_digest_needs_a_proof,
    an_address_proves_nothing,
    an_unknown_scheme_ends_the_connection,
    world_is_no_scheme_to_prove,
    a_failed_proof_does_not_end_the_session,
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

async fn a_login_to_a_server_without_users_is_accepted_and_adds_nobody(server: &Server) {
    let mut client = server.client().await;
    let empty = Bytes::from_static(&[0; 4]);
    let login = Request::Unknown { opcode: Opcode::SASL, body: empty };
    assert_eq!(client.ask(login).await, Ok(Response::Token(None)));
    assert_eq!(identities(&mut client).await, [("ip".into(), "127.0.0.1".into())]);
}

async fn a_digest_needs_a_proof(server: &Server) {
    let mut client = server.client().await;
    assert_failed(&mut client, Request::Auth { scheme: "digest".into(), auth: None }).await;
}

async fn an_address_proves_nothing(server: &Server) {
    let mut client = server.client().await;
    let acl = vec![Acl::new(permissions::ALL, Id::new("auth", ""))];
    let create = Create { acl, ..Create::new(server.path("/a"), "", CreateFlags::PERSISTENT) };
    assert_eq!(client.create(create).await, Err(ErrorCode::INVALID_ACL));
    assert_eq!(client.ask(auth("ip", "")).await, Ok(Response::Empty));
    assert_eq!(identities(&mut client).await, [("ip".into(), "127.0.0.1".into())]);
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
