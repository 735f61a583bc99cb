//! Free ports for servers that are processes of their own.
//!
//! This module may use only `error` and `listener`.

use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::Error;
use crate::listener::loopback;

/// The number of attempts to start on ports that may be taken between the search for them and the start.
const TRIES: usize = 5;

/// Finds `count` different ports that are free at one [`loopback`] address.
pub(crate) fn free(count: usize) -> io::Result<Vec<SocketAddr>> {
    let ip = loopback();
    // All listeners stay open until the last port is found, so that no port is found twice.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect::<io::Result<_>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
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
