//! Identities and access control lists, as far as random scripts do not use them.

use bytes::Bytes;
use zklock_testkit::conversation::{Message, Reply};
use zklock_testkit::wire::{
    Acl, ClientInfo, Create, CreateFlags, ErrorCode, Id, Opcode, Request, Response, Writer, permissions, xid,
};

use crate::case::cases;
use crate::client::{Client, deleted, world};
use crate::server::Server;

cases! {
    watches_of_any_path_need_nothing,
    an_acl_is_kept_in_its_order,
    a_digest_needs_a_proof,
    an_address_proves_nothing,
    an_unknown_scheme_ends_the_connection,
    world_is_no_scheme_to_prove,
    a_failed_proof_does_not_end_the_session,
    an_identity_counts_for_what_follows,
    a_login_to_a_server_without_users_is_accepted_and_adds_nobody,
    a_null_scheme_proves_nothing,
    a_null_path_in_a_multi_is_malformed,
    the_superuser_is_told_of_nodes_that_it_may_not_read,
    a_superuser_is_not_there_unless_it_is_configured,
}

async fn watches_of_any_path_need_nothing(server: &Server) {
    let mut client = server.client().await;
    client.make_for(&server.path("/a"), vec![world(0)]).await;
    client.add_watch(&server.path("/a"), 0).await;
    client.add_watch(&server.path("/no"), 1).await;
    let refused = client.ask(Request::GetData { path: server.path("/a"), watch: true }).await;
    assert_eq!(refused, Err(ErrorCode::NO_AUTH));
}

async fn an_acl_is_kept_in_its_order(server: &Server) {
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

type Line = (Option<&'static str>, Option<&'static str>);

fn nullable(writer: &mut Writer, text: Option<&str>) {
    writer.buffer(text.map(str::as_bytes));
}

fn request(opcode: Opcode, write: impl FnOnce(&mut Writer)) -> Request {
    let mut body = Writer::default();
    write(&mut body);
    Request::Unknown { opcode, body: body.finish() }
}

fn write_acl(body: &mut Writer, lines: &[Line]) {
    body.vector(lines, |body, (scheme, id)| {
        body.int(permissions::ALL);
        nullable(body, *scheme);
        nullable(body, *id);
    });
}

fn write_create(body: &mut Writer, path: &str, lines: &[Line]) {
    body.string(path);
    body.buffer(None);
    write_acl(body, lines);
    body.int(CreateFlags::PERSISTENT.0);
}

/// Writes the header of an operation of a multi, or of its end.
fn write_header(body: &mut Writer, opcode: Option<Opcode>) {
    body.int(opcode.unwrap_or(Opcode::ERROR).0);
    body.boolean(opcode.is_none());
    body.int(-1);
}

async fn a_null_scheme_proves_nothing(server: &Server) {
    let mut client = server.client().await;
    let prove = request(Opcode::AUTH, |body| {
        body.int(0);
        body.buffer(None);
        body.buffer(Some(b"user:password"));
    });
    assert_eq!(client.ask(prove).await, Err(ErrorCode::AUTH_FAILED));
    client.is_closed().await;
}

async fn a_null_path_in_a_multi_is_malformed(server: &Server) {
    let mut client = server.client().await;
    for opcode in [Opcode::CREATE, Opcode::CREATE2, Opcode::DELETE, Opcode::SET_DATA, Opcode::CHECK] {
        let multi = request(Opcode::MULTI, |body| {
            write_header(body, Some(Opcode::CREATE));
            write_create(body, &server.path("/a"), &[(Some("world"), Some("anyone"))]);
            write_header(body, Some(opcode));
            body.buffer(None);
            match opcode {
                Opcode::CREATE | Opcode::CREATE2 => {
                    body.buffer(None);
                    write_acl(body, &[(Some("world"), Some("anyone"))]);
                    body.int(0);
                }
                Opcode::SET_DATA => {
                    body.buffer(None);
                    body.int(-1);
                }
                _ => body.int(-1),
            }
            write_header(body, None);
        });
        assert_eq!(client.ask(multi).await, Err(ErrorCode::MARSHALLING_ERROR), "{opcode}");
        assert_eq!(client.stat(&server.path("/a")).await, Err(ErrorCode::NO_NODE), "{opcode}");
    }
}

async fn superuser(server: &Server) -> Client {
    let mut client = server.reaper_client().await;
    client.authenticate("super", "admin").await;
    client
}

/// Creates a node that permits nothing, with a child that permits nothing.
async fn make_closed(client: &mut Client, path: &str) {
    client.make(path).await;
    client.make_for(&format!("{path}/child"), vec![world(0)]).await;
    client.set_acl(path, vec![world(0)]).await.unwrap();
}

async fn the_superuser_is_told_of_nodes_that_it_may_not_read(server: &Server) {
    let mut other = server.reaper_client().await;
    let path = server.path("/a");
    make_closed(&mut other, &path).await;
    let mut client = superuser(server).await;
    client.watch_data(&server.path("/a/child")).await;
    client.delete(&server.path("/a/child")).await.unwrap();
    assert_eq!(client.event().await.unwrap(), deleted(server.path("/a/child")));
}

async fn a_superuser_is_not_there_unless_it_is_configured(server: &Server) {
    let mut client = server.client().await;
    make_closed(&mut client, &server.path("/a")).await;
    client.authenticate("super", "admin").await;
    assert_eq!(client.data(&server.path("/a")).await, Err(ErrorCode::NO_AUTH));
}
