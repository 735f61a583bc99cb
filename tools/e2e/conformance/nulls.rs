//! Strings that are null, which kazoo sends in ACLs and no client library sends as a path. A null path is malformed.

use zklock_testkit::wire::{CreateFlags, ErrorCode, Opcode, Request, Writer, permissions};

use crate::case::cases;
use crate::server::Server;

cases! {
    a_null_scheme_proves_nothing,
    a_null_path_in_a_multi_is_malformed,
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
