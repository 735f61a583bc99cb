//! Loopback addresses for servers and proxies to listen on.
//!
//! This module may use no other module of the crate.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

/// Returns a loopback address to listen on: a random one if the system has several, or else 127.0.0.1.
///
/// At 127.0.0.1, the system may assign the port of a killed server to any outgoing connection, even to one
/// that tries to reach the server and then connects to itself. Hardly any other program uses a random
/// loopback address, and no outgoing connection starts from it.
pub(crate) fn loopback() -> Ipv4Addr {
    let [a, b, c, ..] = RandomState::new().hash_one(()).to_be_bytes();
    let own = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
    if TcpListener::bind((own, 0)).is_ok() { own } else { Ipv4Addr::LOCALHOST }
}
