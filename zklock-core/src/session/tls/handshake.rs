//! A handshake of zklock's own, because the client library tells no reason why one failed.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};

use crate::session::diagnose::{Bounded, is_late};

/// The reason why a handshake failed.
#[derive(Debug)]
pub(in crate::session) enum Shaken {
    /// A certificate is refused, by either side.
    Distrust(String),
    /// The server ended the connection, or does not speak TLS.
    Ended,
    /// The server did not answer in time.
    Silence,
}

/// Makes a handshake with a server of this name.
pub(in crate::session) fn shake(
    stream: &mut Bounded,
    host: &str,
    config: &Arc<ClientConfig>,
) -> Result<(), Shaken> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| Shaken::Distrust(error.to_string()))?;
    let tls = ClientConnection::new(config.clone(), name);
    let mut tls = tls.map_err(|error| Shaken::Distrust(error.to_string()))?;
    while tls.is_handshaking() {
        tls.complete_io(stream).map_err(|error| failure(&error))?;
    }
    // With TLS 1.3, a server refuses the client's certificate after the handshake. One that accepts it waits for us.
    stream.deadline = stream.deadline.min(Instant::now() + LATE_REFUSAL);
    match Stream::new(&mut tls, stream).read(&mut [0; 1]) {
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(failure(&error)),
        _ => Ok(()),
    }
}

fn failure(error: &io::Error) -> Shaken {
    let reason = error.get_ref().and_then(|reason| reason.downcast_ref());
    match (error.kind(), reason) {
        _ if is_late(error) => Shaken::Silence,
        // The bytes of another protocol.
        (_, Some(rustls::Error::InvalidMessage(_))) => Shaken::Ended,
        // The reason of the TLS library, or of the other side.
        (ErrorKind::InvalidData, _) => Shaken::Distrust(error.to_string()),
        _ => Shaken::Ended,
    }
}

/// The longest wait for a refusal of the client's certificate after the handshake.
const LATE_REFUSAL: Duration = Duration::from_millis(500);
