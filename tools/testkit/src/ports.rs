//! Free ports and loopback addresses for servers and proxies to listen on.
//!
//! This module may use only `error`.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::Error;

/// The number of attempts to start on ports that may be taken between the search for them and the start.
const TRIES: usize = 5;

/// Finds `count` different ports that are free at one [`loopback`] address.
pub(crate) fn free(count: usize) -> io::Result<Vec<SocketAddr>> {
    let ip = loopback();
    // All listeners stay open until the last port is found, so that no port is found twice.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect::<io::Result<_>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}

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

/// Calls `start` up to [`TRIES`] times while a port turns out to be taken; it must find new ports each time.
pub(crate) fn start_on_free(mut start: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    for _ in 1..TRIES {
        match start() {
            Err(error) if is_of_a_taken_port(&error) => {}
            outcome => return outcome,
        }
    }
    start()
}

fn is_of_a_taken_port(error: &Error) -> bool {
    match error {
        Error::Exited { log } | Error::NotReady { log, .. } => log.contains("Address already in use"),
        _ => false,
    }
}
