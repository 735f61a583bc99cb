//! The port with TLS of a real server, and the files for it.

use std::net::SocketAddr;
use std::path::Path;

use super::{ZooKeeper, write_private};
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
}

/// The port with TLS, of servers that were started with [`ZooKeeperBuilder::tls`](crate::ZooKeeperBuilder::tls). For other
/// servers, these methods panic.
impl ZooKeeper {
    /// Returns the address of the port with TLS as `tcp+tls://ADDRESS:PORT`, which the crate `zookeeper-client`
    /// connects to.
    ///
    /// The port without TLS, at [`connect_string`](Self::connect_string), is open as well.
    pub fn secure_connect_string(&self) -> &str {
        &self.secure_port().connect_string
    }

    /// Returns the address of the port with TLS, for clients that are told in another way to use TLS.
    pub fn secure_address(&self) -> SocketAddr {
        self.secure_port().address
    }

    fn secure_port(&self) -> &SecurePort {
        self.secure.as_ref().expect("the server was started with TLS")
    }

    /// Replaces the certificate and the key of the port with TLS, as of the next [`restart`](Self::restart).
    ///
    /// ZooKeeper 3.8.0 does not reload certificates, so clients get the old one until then.
    pub fn replace_certificate(&self, identity: &Identity) -> Result<(), Error> {
        self.secure_port();
        write_identity(identity, self.directory())
    }

    /// Replaces the authority whose client certificates the server accepts, as of the next
    /// [`restart`](Self::restart). The certificate of the server stays.
    pub fn replace_authority(&self, authority: &Authority) -> Result<(), Error> {
        self.secure_port();
        write_authority(authority, self.directory())
    }
}

/// Writes the certificate of the authority whose clients the server accepts, which it reads when it starts.
fn write_authority(authority: &Authority, directory: &Path) -> Result<(), Error> {
    write_private(&directory.join(AUTHORITY), authority.certificate_pem())
        .map_err(Error::io("write the certificate of the authority"))
}

/// Writes the certificate and the key that the server reads when it starts.
fn write_identity(identity: &Identity, directory: &Path) -> Result<(), Error> {
    let both = [identity.certificate_pem(), identity.key_pem()].concat();
    write_private(&directory.join(IDENTITY), &both).map_err(Error::io("write the certificate of the server"))
}

/// The file with the certificate and the key of the server. ZooKeeper knows the format by the end of the name.
const IDENTITY: &str = "identity.pem";

/// The file with the certificate of the authority whose clients are accepted.
const AUTHORITY: &str = "authority.pem";
