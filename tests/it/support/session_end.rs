//! Ends another client's session at a chosen moment, as its expiry would.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use zklock_testkit::session_password;
use zklock_testkit::wire::{ConnectRequest, ConnectResponse, Opcode, Record, RequestHeader};

use super::waiting::SOON;

/// Attaches to the session with its password and closes it. Its nodes are gone when this returns.
pub(crate) fn end_session(server: SocketAddr, session_id: i64) {
    assert_ne!(session_id, 0, "a server opens a new session for this id");
    let deadline = Instant::now() + SOON;
    // The owner reconnects as soon as it is detached, and may win the session back before it is closed.
    while attach(server, session_id) != Some(0) {
        assert!(Instant::now() < deadline, "the session 0x{session_id:x} does not end");
    }
}

/// Attaches to the session and closes it in one packet. Returns the session's id as the server knows it,
/// which is zero if the server has no such session.
fn attach(server: SocketAddr, session_id: i64) -> Option<i64> {
    let mut stream = TcpStream::connect(server).expect("the server accepts a connection");
    stream.set_read_timeout(Some(SOON)).expect("a timeout is set");
    let attachment = ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        // Short, so that a session that the owner wins back and loses again does not outlive the owner's own
        // timeout.
        timeout: 1_000,
        session_id,
        password: Some(session_password(session_id).to_vec().into()),
        read_only: None,
    };
    let end = RequestHeader { xid: 1, opcode: Opcode::CLOSE_SESSION };
    stream.write_all(&[framed(&attachment), framed(&end)].concat()).expect("the server reads");
    let response = ConnectResponse::from_bytes(read_frame(&mut stream)?.into());
    // The reply to the close of the session, or the end of the connection.
    read_frame(&mut stream);
    Some(response.expect("a connect response").session_id)
}

fn framed(record: &impl Record) -> Vec<u8> {
    let bytes = record.to_bytes();
    let length = u32::try_from(bytes.len()).expect("a record is short");
    [&length.to_be_bytes(), &bytes[..]].concat()
}

fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}
