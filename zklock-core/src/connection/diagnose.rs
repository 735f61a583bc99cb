//! Finds out why servers open no session, because the client library does not tell.
//!
//! Looks at each server once, on a thread of its own: resolves its name, connects, and speaks to it in the way that
//! the client is configured for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
#[cfg(feature = "tls")]
use rustls::{ClientConfig, ClientConnection, Stream, pki_types::ServerName};
use tokio::sync::Mutex;

use crate::address::Address;
use crate::tasks::apart;
use crate::time::timeout;

use super::OpenError;

/// The certificates of a client with encrypted connections.
#[cfg(feature = "tls")]
pub(crate) type Certificates = Arc<ClientConfig>;
#[cfg(not(feature = "tls"))]
#[derive(Clone)]
pub(crate) enum Certificates {}

/// Looks for the reasons, in one search at a time, because a name service may keep a thread for long.
#[derive(Clone, Default)]
pub(crate) struct Diagnosis(Arc<Mutex<()>>);

/// The reason why a server opens no session.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// The client and the server do not trust each other's certificates. Another attempt fails, too.
    #[cfg(feature = "tls")]
    Distrust(String),
    Failure(String),
    /// The server answers as it should. The text describes it.
    Fine(String),
}

impl Diagnosis {
    /// Looks at each of these servers, for about `within`, after a search that is under way. Returns `None` if the servers are
    /// fine, or if that search does not end.
    pub(crate) async fn of(
        &self,
        servers: &str,
        certificates: Option<Certificates>,
        within: Duration,
    ) -> Option<OpenError> {
        let turn = Arc::new(timeout(within * LOOKS, self.0.clone().lock_owned()).await.ok()?);
        let looks = servers.split(',').map(|server| {
            let (turn, certificates, looked_at) = (turn.clone(), certificates.clone(), server.to_owned());
            let looked = apart(move || {
                let finding = look(&looked_at, certificates.as_ref(), within);
                drop(turn);
                finding
            });
            async move {
                // The name service has no bound of its own.
                let finding = timeout(within * LOOKS, looked).await;
                let finding = finding.ok().flatten().unwrap_or_else(|| "no reason was found in time".into());
                (server.to_owned(), finding)
            }
        });
        told(&join_all(looks).await)
    }
}

/// Puts the findings together. A single server needs no name.
fn told(found: &[(String, Finding)]) -> Option<OpenError> {
    // The client library, or the login, knows a better reason than that all servers are fine.
    if found.iter().all(|(_, finding)| matches!(finding, Finding::Fine(_))) {
        return None;
    }
    let text = match found {
        [(_, finding)] => finding.text().to_owned(),
        several => {
            let named = |(server, finding): &(String, Finding)| {
                let name =
                    Address::parse(server).map_or_else(|_| server.clone(), |address| address.authority());
                format!("{name}: {}", finding.text())
            };
            several.iter().map(named).collect::<Vec<_>>().join("; ")
        }
    };
    #[cfg(feature = "tls")]
    if found.iter().all(|(_, finding)| matches!(finding, Finding::Distrust(_))) {
        return Some(OpenError::Untrusted(text));
    }
    Some(OpenError::Unreachable(text))
}

impl Finding {
    fn text(&self) -> &str {
        match self {
            #[cfg(feature = "tls")]
            Self::Distrust(reason) => reason,
            Self::Failure(reason) | Self::Fine(reason) => reason,
        }
    }
}

impl From<&str> for Finding {
    fn from(reason: &str) -> Self {
        Self::Failure(reason.to_owned())
    }
}

/// Looks at one server. Blocks the thread for about `within`, and for the search of its addresses.
fn look(server: &str, certificates: Option<&Certificates>, within: Duration) -> Finding {
    let (host, port) = match Address::parse(server) {
        Ok(address) => address.endpoint(),
        Err(reason) => return Finding::Failure(format!("the entry {reason}")),
    };
    let addresses: Vec<_> = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => return Finding::Failure(format!("unknown host: {error}")),
    };
    let mut finding = Finding::from("unknown host: its name has no address");
    for address in &addresses {
        match connect(*address, within / addresses.len() as u32) {
            Ok(stream) => return speak((host, *address), stream, certificates, within),
            Err(error) => finding = unconnected(&error),
        }
    }
    finding
}

fn unconnected(error: &io::Error) -> Finding {
    match error.kind() {
        ErrorKind::ConnectionRefused => "it refuses connections: nothing listens on this port".into(),
        // Linux reports a connection that is reset as soon as it is made as a broken pipe.
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => CLOSED.into(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            "no answer from its address: it is wrong or down, or a firewall drops the connection".into()
        }
        _ => Finding::Failure(format!("no connection: {error}")),
    }
}

/// Speaks to a server in the way that the client is configured for.
fn speak(
    (host, address): (&str, SocketAddr),
    mut stream: TcpStream,
    certificates: Option<&Certificates>,
    within: Duration,
) -> Finding {
    #[cfg(feature = "tls")]
    if let Some(certificates) = certificates {
        return shake(&mut stream, host, certificates, within).unwrap_or_else(|| {
            let plain = connect(address, within).ok().and_then(|mut stream| in_plain(&mut stream, within));
            let port = match &plain {
                Some(Finding::Fine(_)) => "this is its port without TLS",
                Some(plain) if plain.text() == HTTP => HTTP,
                _ => "it may have no TLS",
            };
            Finding::Failure(format!("the server ended the TLS handshake: {port}"))
        });
    }
    #[cfg(not(feature = "tls"))]
    let _ = (host, certificates);
    match in_plain(&mut stream, within) {
        Some(finding) => finding,
        None if expects_tls(address, within) => TLS.into(),
        None => CLOSED.into(),
    }
}

/// Makes a handshake with a server of this name. Returns `None` if the server ended it, or does not speak TLS.
#[cfg(feature = "tls")]
fn shake(stream: &mut TcpStream, host: &str, config: &Certificates, within: Duration) -> Option<Finding> {
    let distrust = |reason: &dyn ToString| Some(Finding::Distrust(reason.to_string()));
    let name = match ServerName::try_from(host.to_owned()) {
        Ok(name) => name,
        Err(error) => return distrust(&error),
    };
    let mut tls = match ClientConnection::new(config.clone(), name) {
        Ok(tls) => tls,
        Err(error) => return distrust(&error),
    };
    stream.set_read_timeout(Some(within)).ok()?;
    while tls.is_handshaking() {
        if let Err(error) = tls.complete_io(stream) {
            return unshaken(&error);
        }
    }
    // With TLS 1.3, a server refuses the client's certificate after the handshake. One that accepts it waits for us.
    stream.set_read_timeout(Some(LATE_REFUSAL)).ok()?;
    match Stream::new(&mut tls, stream).read(&mut [0; 1]) {
        Err(error) if error.kind() == ErrorKind::InvalidData => unshaken(&error),
        _ => Some(Finding::Fine("its certificate is accepted, and it opened no session in time".to_owned())),
    }
}

#[cfg(feature = "tls")]
fn unshaken(error: &io::Error) -> Option<Finding> {
    let reason = error.get_ref().and_then(|reason| reason.downcast_ref());
    match (error.kind(), reason) {
        _ if is_late(error) => Some("it does not answer the TLS handshake".into()),
        // The bytes of another protocol.
        (_, Some(rustls::Error::InvalidMessage(_))) => None,
        // The reason of the TLS library, or of the other side.
        (ErrorKind::InvalidData, _) => Some(Finding::Distrust(error.to_string())),
        _ => None,
    }
}

/// The longest wait for a refusal of the client's certificate after the handshake.
#[cfg(feature = "tls")]
const LATE_REFUSAL: Duration = Duration::from_millis(500);

/// Asks a server for its state, in one of ZooKeeper's four-letter words. Returns `None` if it closes the connection.
fn in_plain(stream: &mut TcpStream, within: Duration) -> Option<Finding> {
    let mut words = [0; 256];
    stream.set_read_timeout(Some(within / 2)).ok()?;
    // A server that waits for a line, as one of HTTP does, answers to the second part.
    for part in ["srvr", "\r\n\r\n"] {
        match stream.write_all(part.as_bytes()).and_then(|()| stream.read(&mut words)) {
            Ok(0) => return None,
            Ok(length) => return Some(Finding::of(&words[..length])),
            Err(error) if is_late(&error) => {}
            Err(_) => return None,
        }
    }
    Some("it accepts connections, and does not answer".into())
}

impl Finding {
    /// Returns what the first words of a server tell.
    fn of(words: &[u8]) -> Self {
        if is_tls(words) {
            return TLS.into();
        }
        let text = String::from_utf8_lossy(words);
        let line = text.lines().next().unwrap_or_default();
        if let Some(version) = line.strip_prefix("Zookeeper version: ") {
            let version = version.split(['-', ',']).next().unwrap_or_default();
            Self::Fine(format!("it is ZooKeeper {version}, and opened no session in time"))
        } else if line.starts_with("This ZooKeeper instance is not currently serving requests") {
            "it is ZooKeeper without a quorum, and accepts no session now".into()
        } else if line.contains("is not executed because it is not in the whitelist") {
            Self::Fine("it is ZooKeeper, and opened no session in time".to_owned())
        } else if ["HTTP/", "<!DOCTYPE", "<html"].iter().any(|start| line.starts_with(start)) {
            HTTP.into()
        } else {
            let shown: String = line.chars().take(SHOWN).collect();
            Self::Failure(format!("it is not ZooKeeper: it begins with {shown:?}"))
        }
    }
}

/// Returns whether these bytes begin a message of TLS.
fn is_tls(words: &[u8]) -> bool {
    matches!(words, [0x15 | 0x16, 0x03, ..])
}

/// Returns whether a server that says nothing otherwise answers the beginning of a TLS handshake.
fn expects_tls(address: SocketAddr, within: Duration) -> bool {
    let spoken = connect(address, within).and_then(|mut stream| {
        let mut words = [0; 8];
        stream.write_all(&hello())?;
        let length = stream.read(&mut words)?;
        Ok(is_tls(&words[..length]))
    });
    spoken.unwrap_or(false)
}

/// The beginning of a handshake of TLS 1.2 with one cipher suite. A server of TLS accepts or refuses it, and says so.
fn hello() -> Vec<u8> {
    // A record of 45 bytes with a message of 41: the version, 32 random bytes, and no session.
    let head = [0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    let one_suite_and_no_compression = [0, 0, 2, 0, 0x2f, 1, 0];
    [&head[..], &[0; 32], &one_suite_and_no_compression].concat()
}

/// Connects to a server, each of whose answers is waited for within this time.
fn connect(address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    Ok(stream)
}

/// Returns whether no answer came in time.
fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// How often a look may take its time: to connect, to speak, and both again in another way.
const LOOKS: u32 = 4;
/// The characters that are shown of what a foreign server says.
const SHOWN: usize = 40;
const CLOSED: &str = "it closes connections at once: it has too many, or it is not ZooKeeper";
const TLS: &str = "it expects TLS, which is not configured here";
const HTTP: &str = "it speaks HTTP: this is the port of another service";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_first_words() {
        let fine = |state: &str| Finding::Fine(state.to_owned());
        for (words, finding) in [
            (
                &b"Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25\nLatency"[..],
                fine("it is ZooKeeper 3.8.0, and opened no session in time"),
            ),
            (
                b"This ZooKeeper instance is not currently serving requests\n",
                "it is ZooKeeper without a quorum, and accepts no session now".into(),
            ),
            (
                b"srvr is not executed because it is not in the whitelist.\n",
                fine("it is ZooKeeper, and opened no session in time"),
            ),
            (b"HTTP/1.1 400 Bad Request\r\n", HTTP.into()),
            (b"<!DOCTYPE HTML>", HTTP.into()),
            (b"\x15\x03\x03\x00\x02\x02\x28", TLS.into()),
            (b"\x16\x03\x03\x00\x51", TLS.into()),
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "it is not ZooKeeper: it begins with \"SSH-2.0-OpenSSH_9.2p1\"".into()),
            (b"\x00\xff", "it is not ZooKeeper: it begins with \"\\0\u{fffd}\"".into()),
        ] {
            assert_eq!(Finding::of(words), finding);
        }
    }

    #[test]
    fn one_server_needs_no_name_and_several_have_theirs() {
        let text = |found: &[(String, Finding)]| match told(found) {
            Some(OpenError::Unreachable(text)) => text,
            other => panic!("{other:?}"),
        };
        let refused = ("tcp+tls://a:1".to_owned(), Finding::from("refused"));
        assert_eq!(text(std::slice::from_ref(&refused)), "refused");
        assert_eq!(text(&[refused, ("b:2".to_owned(), Finding::from("late"))]), "a:1: refused; b:2: late");
        let fine = ("a:1".to_owned(), Finding::Fine("it is ZooKeeper".to_owned()));
        assert!(told(std::slice::from_ref(&fine)).is_none());
        let late = ("b:2".to_owned(), Finding::from("late"));
        assert_eq!(text(&[fine, late]), "a:1: it is ZooKeeper; b:2: late");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn only_servers_that_all_distrust_the_client_make_an_attempt_final() {
        let distrust = ("a:1".to_owned(), Finding::Distrust("unknown issuer".into()));
        assert!(matches!(told(&[distrust.clone(), distrust.clone()]), Some(OpenError::Untrusted(_))));
        let refused = ("b:2".to_owned(), Finding::from("refused"));
        assert!(matches!(told(&[distrust, refused]), Some(OpenError::Unreachable(_))));
    }
}
