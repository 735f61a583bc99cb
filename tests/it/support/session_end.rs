//! Ends somebody else's session, as its expiry would, at a chosen moment.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::SOON;

/// Attaches to the session with its password and closes it; its nodes are gone when this returns.
pub(crate) fn end_session(server: SocketAddr, session_id: i64) {
    // The owner reconnects at once when it is detached, and may win the session back before it is closed.
    while attach(server, session_id) != Some(0) {}
}

/// Sends the attachment and the end of the session in one packet; returns the session's id as the server
/// knows it, which is zero if it knows none.
fn attach(server: SocketAddr, session_id: i64) -> Option<i64> {
    let mut stream = TcpStream::connect(server).expect("the server accepts a connection");
    stream.set_read_timeout(Some(SOON)).expect("a timeout is set");
    let close_session = [1_i32.to_be_bytes(), (-11_i32).to_be_bytes()].concat();
    let requests = [framed(&connect_request(session_id)), framed(&close_session)].concat();
    stream.write_all(&requests).expect("the server reads");
    let response = read_frame(&mut stream)?;
    // The reply to the end of the session, or the end of the connection.
    read_frame(&mut stream);
    Some(i64::from_be_bytes(response[8..16].try_into().expect("a connect response has a session id")))
}

fn connect_request(session_id: i64) -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(0_i32.to_be_bytes()); // protocol version
    request.extend(0_i64.to_be_bytes()); // last zxid seen
    request.extend(6_000_i32.to_be_bytes()); // timeout in milliseconds
    request.extend(session_id.to_be_bytes());
    request.extend(16_i32.to_be_bytes());
    request.extend(password(session_id));
    request
}

fn framed(request: &[u8]) -> Vec<u8> {
    let length = u32::try_from(request.len()).expect("a request is short");
    [&length.to_be_bytes(), request].concat()
}

fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}

/// The password that the server derives from a session's id: 16 bytes of Java's `Random`, seeded with the id
/// and a constant of `ZooKeeperServer`.
fn password(session_id: i64) -> [u8; 16] {
    const SECRET: i64 = 0xB341_5C00;
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;
    let mut seed = ((session_id ^ SECRET) as u64 ^ MULTIPLIER) & MASK;
    let mut password = [0; 16];
    for bytes in password.chunks_exact_mut(4) {
        seed = (seed.wrapping_mul(MULTIPLIER) + 0xB) & MASK;
        bytes.copy_from_slice(&((seed >> 16) as u32).to_le_bytes());
    }
    password
}
