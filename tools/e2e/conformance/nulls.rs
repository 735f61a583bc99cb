//! Strings that are null, which kazoo sends in ACLs and no client library sends as a path. A null path is malformed.

use zklock_testkit::wire::{
    Acl, CreateFlags, ErrorCode, Id, OpResult, Opcode, Request, Response, Writer, permissions,
};

use crate::case::cases;
use crate::client::Client;
use crate::server::Server;

cases! {
    a_null_id_of_auth_stands_for_who_is_proven,
    a_null_id_of_auth_is_invalid_without_a_proof,
    a_null_scheme_is_invalid,
    a_null_id_is_malformed_where_it_is_looked_at,
    null_lines_that_are_compared_are_malformed,
    a_null_scheme_proves_nothing,
    a_null_path_in_a_multi_is_malformed,
}

/// `base64(sha1("user:password"))`.
const HASH: &str = "tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY=";

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

fn set_acl(path: &str, lines: &[Line]) -> Request {
    request(Opcode::SET_ACL, |body| {
        body.string(path);
        write_acl(body, lines);
        body.int(-1);
    })
}

/// The error of a request, or of the only operation of a multi.
fn error_of(answer: Result<Response, ErrorCode>) -> Option<ErrorCode> {
    match answer {
        Ok(Response::Multi(results)) => match results.as_slice() {
            [OpResult::Failed(error)] => Some(*error),
            _ => None,
        },
        answer => answer.err(),
    }
}

/// Sends every request that carries an ACL, and returns the paths of the nodes that have it, or the error of
/// each.
async fn all_with(client: &mut Client, server: &Server, lines: &[Line]) -> Vec<(String, Option<ErrorCode>)> {
    let mut outcomes = Vec::new();
    let [created, created2, in_multi, replaced] =
        ["/create", "/create2", "/multi", "/set"].map(|name| server.path(name));
    for (opcode, path) in [(Opcode::CREATE, created), (Opcode::CREATE2, created2)] {
        let create = request(opcode, |body| write_create(body, &path, lines));
        outcomes.push((path, error_of(client.ask(create).await)));
    }
    let multi = request(Opcode::MULTI, |body| {
        write_header(body, Some(Opcode::CREATE));
        write_create(body, &in_multi, lines);
        write_header(body, None);
    });
    outcomes.push((in_multi, error_of(client.ask(multi).await)));
    if client.stat(&replaced).await.is_err() {
        client.make(&replaced).await;
    }
    let set = set_acl(&replaced, lines);
    outcomes.push((replaced, error_of(client.ask(set).await)));
    outcomes
}

async fn a_null_id_of_auth_stands_for_who_is_proven(server: &Server) {
    let mut client = server.client().await;
    client.authenticate("user", "password").await;
    let owner = vec![Acl::new(permissions::ALL, Id::new("digest", format!("user:{HASH}")))];
    for (path, error) in all_with(&mut client, server, &[(Some("auth"), None)]).await {
        assert_eq!(error, None, "{path}");
        assert_eq!(client.acl(&path).await.unwrap().0, owner, "{path}");
    }
}

/// Asserts that every request that carries an ACL refuses this one.
async fn assert_refused(server: &Server, lines: &[Line], expected: ErrorCode) {
    let mut client = server.client().await;
    for (path, error) in all_with(&mut client, server, lines).await {
        assert_eq!(error, Some(expected), "{lines:?}: {path}");
    }
}

async fn a_null_id_of_auth_is_invalid_without_a_proof(server: &Server) {
    assert_refused(server, &[(Some("auth"), None)], ErrorCode::INVALID_ACL).await;
}

async fn a_null_scheme_is_invalid(server: &Server) {
    for id in [None, Some(""), Some("anyone")] {
        assert_refused(server, &[(None, id)], ErrorCode::INVALID_ACL).await;
    }
}

/// An unknown scheme is refused before its id is looked at.
async fn a_null_id_is_malformed_where_it_is_looked_at(server: &Server) {
    for scheme in ["world", "digest", "ip"] {
        assert_refused(server, &[(Some(scheme), None)], ErrorCode::MARSHALLING_ERROR).await;
    }
    assert_refused(server, &[(Some("unknown"), None)], ErrorCode::INVALID_ACL).await;
}

async fn null_lines_that_are_compared_are_malformed(server: &Server) {
    let auth = (Some("auth"), None);
    assert_refused(server, &[auth, auth], ErrorCode::MARSHALLING_ERROR).await;
    assert_refused(server, &[(Some("world"), Some("anyone")), (None, None)], ErrorCode::MARSHALLING_ERROR)
        .await;
    assert_refused(server, &[(None, None), (Some("world"), Some("anyone"))], ErrorCode::INVALID_ACL).await;
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
