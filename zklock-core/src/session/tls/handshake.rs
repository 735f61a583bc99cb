//! A handshake of zklock's own, because the client library tells no reason why one failed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};

/// Returns the reasons, if the servers that can be reached refuse an encrypted connection or are refused, all of them.
///
/// Blocks the thread for up to `within` for each server. A server that cannot be reached, or that accepts the connection,
/// ends the search: another attempt may succeed.
pub(super) fn refusal(servers: &str, config: &Arc<ClientConfig>, within: Duration) -> Option<String> {
    let refused = servers.split(',').map(|server| match shake(server, config.clone(), within) {
        Err(Failure::Refused(reason)) => Some(format!("{}: {reason}", address(server))),
        Ok(()) | Err(Failure::Unreachable) => None,
    });
    refused.collect::<Option<Vec<_>>>().map(|reasons| reasons.join("; "))
}

enum Failure {
    Unreachable,
    Refused(String),
}

fn address(server: &str) -> &str {
    server.rsplit_once("://").map_or(server, |(_, address)| address)
}

/// Splits an address into its host and its port.
fn host_and_port(address: &str) -> (&str, u16) {
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(DEFAULT_PORT)),
        _ => (address, DEFAULT_PORT),
    };
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

fn shake(server: &str, config: Arc<ClientConfig>, within: Duration) -> Result<(), Failure> {
    let (host, port) = host_and_port(address(server));
    let deadline = Instant::now() + within;
    let mut stream = Bounded::connect(host, port, deadline).map_err(|_| Failure::Unreachable)?;
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| Failure::Refused(error.to_string()))?;
    let tls = ClientConnection::new(config, name);
    let mut tls = tls.map_err(|error| Failure::Refused(error.to_string()))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).map_err(|error| failure(&error))?;
    }
    // With TLS 1.3, a server refuses the client's certificate after the handshake, in front of its first answer.
    let mut stream = Stream::new(&mut tls, &mut stream);
    let answered = stream.write_all(QUESTION).and_then(|()| stream.read(&mut [0; 1]));
    match answered {
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(failure(&error)),
        _ => Ok(()),
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::Unreachable,
        // The reason of the TLS library, or of the other side.
        ErrorKind::InvalidData => Failure::Refused(error.to_string()),
        _ => Failure::Refused("the server ended the TLS handshake".to_owned()),
    }
}

/// A connection with one deadline for all that it does.
struct Bounded {
    stream: TcpStream,
    deadline: Instant,
}

impl Bounded {
    fn connect(host: &str, port: u16, deadline: Instant) -> io::Result<Self> {
        let mut addresses = (host, port).to_socket_addrs()?;
        let address = addresses.next().ok_or(ErrorKind::NotFound)?;
        let stream = TcpStream::connect_timeout(&address, left(deadline)?)?;
        Ok(Self { stream, deadline })
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

/// A four-letter word. Each server answers or closes the connection.
const QUESTION: &[u8] = b"srvr";
/// The port of a server without one in the connect string.
const DEFAULT_PORT: u16 = 2181;
