//! The port with TLS of a real server, and the files for it.
//!
//! This module may use only `error` and `tls`.

use std::net::SocketAddr;
use std::path::Path;

use super::write_private;
use crate::Error;
use crate::real::tls::{Authority, Identity, Tls};

/// The port of a server at which its clients use TLS.
#[derive(Debug)]
pub(super) struct SecurePort {
    address: SocketAddr,
    connect_string: String,
}

impl SecurePort {
    /// Writes the files of a port to the directory of its server.
    pub(super) fn create(tls: &Tls, address: SocketAddr, directory: &Path) -> Result<Self, Error> {
        write_authority(tls.authority(), directory)?;
        write_identity(&tls.identity_at(address.ip()), directory)?;
        Ok(Self { address, connect_string: format!("tcp+tls://{address}") })
    }

    /// Returns the settings of the server for this port.
    pub(super) fn settings(&self, tls: &Tls) -> String {
        [
            ("secureClientPort", self.address.port().to_string()),
            ("secureClientPortAddress", self.address.ip().to_string()),
            // The default factory has no TLS.
            ("serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory".to_owned()),
            ("ssl.keyStore.location", format!("./{IDENTITY}")),
            ("ssl.trustStore.location", format!("./{AUTHORITY}")),
            ("ssl.clientAuth", tls.client_auth().to_owned()),
        ]
        .iter()
        .map(|(key, value)| format!("{key}={value}\n"))
        .collect()
    }

    /// Returns whether an answer to `conf` shows that the server listens on this port.
    pub(super) fn is_open(&self, conf: &str) -> bool {
        conf.lines().any(|line| line == format!("secureClientPort={}", self.address.port()))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn connect_string(&self) -> &str {
        &self.connect_string
    }
}

/// Writes the certificate of the authority whose clients the server accepts, which it reads when it starts.
pub(super) fn write_authority(authority: &Authority, directory: &Path) -> Result<(), Error> {
    write_private(&directory.join(AUTHORITY), authority.certificate_pem())
        .map_err(Error::io("write the certificate of the authority"))
}

/// Writes the certificate and the key that the server reads when it starts.
pub(super) fn write_identity(identity: &Identity, directory: &Path) -> Result<(), Error> {
    let both = [identity.certificate_pem(), identity.key_pem()].concat();
    write_private(&directory.join(IDENTITY), &both).map_err(Error::io("write the certificate of the server"))
}

/// The file with the certificate and the key of the server. ZooKeeper knows the format by the end of the name.
const IDENTITY: &str = "identity.pem";

/// The file with the certificate of the authority whose clients are accepted.
const AUTHORITY: &str = "authority.pem";
