//! Ports that nobody listens on.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::Error;

/// How often ports that were free a moment ago may turn out to be taken.
const TRIES: usize = 5;

/// Finds so many different ports that are free at an address.
pub(crate) fn free(ip: Ipv4Addr, count: usize) -> io::Result<Vec<SocketAddr>> {
    // All are held until the last has been found, or one might be found twice.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect::<io::Result<_>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}

/// Gives a loopback address that hardly anybody else uses.
///
/// A port at such an address stays free while nobody listens on it, as those of an ensemble are where another
/// server leads.
pub(crate) fn private_loopback() -> Ipv4Addr {
    let [a, b, c, ..] = RandomState::new().hash_one(()).to_be_bytes();
    Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254))
}

/// Tries a start on other ports, which `start` must find anew, while one turns out to be taken.
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
