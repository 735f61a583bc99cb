//! Ports that nobody listens on.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::Error;

/// How often ports that were free a moment ago may turn out to be taken.
const TRIES: usize = 5;

/// Finds so many different ports that are free at one [`loopback`] address.
pub(crate) fn free(count: usize) -> io::Result<Vec<SocketAddr>> {
    let ip = loopback();
    // All are held until the last has been found, or one might be found twice.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect::<io::Result<_>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}

/// Gives a loopback address at which to listen.
///
/// At 127.0.0.1 the port of a server that was killed may be given to any connection in the meantime, even to one
/// that tries to reach the server and then finds itself. Where there are other addresses it is one that hardly
/// anybody else uses, and that no connection starts from.
pub(crate) fn loopback() -> Ipv4Addr {
    let [a, b, c, ..] = RandomState::new().hash_one(()).to_be_bytes();
    let own = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
    if TcpListener::bind((own, 0)).is_ok() { own } else { Ipv4Addr::LOCALHOST }
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
