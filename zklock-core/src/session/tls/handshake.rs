//! A handshake of zklock's own, because the client library tells no reason why one failed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};

use crate::session::address::{split, without_scheme};

/// The reasons why there is no encrypted connection, for each server that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::session) enum Verdict {
    /// No server and this client trust each other.
    Distrust(String),
    /// Another attempt may succeed.
    Unclear(String),
}

/// Looks for the reasons why there is no encrypted connection to any of these servers. Returns `None` if no server has
/// one.
///
/// Blocks the thread for about `within`, and for the search of addresses.
pub(super) fn verdict(servers: &str, config: &Arc<ClientConfig>, within: Duration) -> Option<Verdict> {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let look = |server| thread::Builder::new().spawn_scoped(scope, move || shake(server, config, within));
        let looks: Vec<_> = servers.split(',').map(|server| (server, look(server))).collect();
        let outcome = |look: io::Result<ScopedJoinHandle<'_, _>>| look.ok()?.join().ok();
        let ended = looks.into_iter().map(|(server, look)| (server, outcome(look)));
        ended.map(|(server, outcome)| (server, outcome.unwrap_or(Err(Failure::Unreachable)))).collect()
    });
    let told = outcomes.iter().filter_map(|(server, outcome)| match outcome {
        Err(Failure::Distrust(reason) | Failure::Unclear(reason)) => {
            Some(format!("{}: {reason}", without_scheme(server)))
        }
        Ok(()) | Err(Failure::Unreachable) => None,
    });
    let told = told.collect::<Vec<_>>().join("; ");
    if told.is_empty() {
        return None;
    }
    let is_distrust = |(_, outcome): &(_, _)| matches!(outcome, Err(Failure::Distrust(_)));
    Some(if outcomes.iter().all(is_distrust) { Verdict::Distrust(told) } else { Verdict::Unclear(told) })
}

enum Failure {
    Unreachable,
    /// The connection ended in the handshake. The server may have too many, or no TLS.
    Unclear(String),
    /// A certificate is refused, by either side.
    Distrust(String),
}

fn shake(server: &str, config: &Arc<ClientConfig>, within: Duration) -> Result<(), Failure> {
    let (host, port) = split(without_scheme(server));
    let port = port.and_then(|port| port.parse().ok()).ok_or(Failure::Unreachable)?;
    let deadline = Instant::now() + within;
    let mut stream = Bounded::connect(host, port, deadline).map_err(|_| Failure::Unreachable)?;
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| Failure::Distrust(error.to_string()))?;
    let tls = ClientConnection::new(config.clone(), name);
    let mut tls = tls.map_err(|error| Failure::Distrust(error.to_string()))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).map_err(|error| failure(&error))?;
    }
    // With TLS 1.3, a server refuses the client's certificate after the handshake. One that accepts it waits for us.
    stream.deadline = deadline.min(Instant::now() + within / 4);
    match Stream::new(&mut tls, &mut stream).read(&mut [0; 1]) {
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(failure(&error)),
        _ => Ok(()),
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::Unreachable,
        // The reason of the TLS library, or of the other side.
        ErrorKind::InvalidData => Failure::Distrust(error.to_string()),
        _ => Failure::Unclear("the server ended the TLS handshake; it may have no TLS".to_owned()),
    }
}

/// A connection with one deadline for all that it does.
struct Bounded {
    stream: TcpStream,
    deadline: Instant,
}

impl Bounded {
    fn connect(host: &str, port: u16, deadline: Instant) -> io::Result<Self> {
        let mut failure = io::Error::from(ErrorKind::NotFound);
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => return Ok(Self { stream, deadline }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// Returns the time that is left.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(buffer)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
