//! Certificates for tests, and the TLS of real servers.
//!
//! This module needs the feature `tls`. It may use no other module of the crate.

mod authority;
mod identity;

pub use authority::Authority;
pub use identity::{Identity, Validity};

/// The TLS of a server that [`ZooKeeperBuilder::tls`](crate::ZooKeeperBuilder::tls) starts.
///
/// This type needs the feature `tls`, as do [`Authority`], [`Identity`], [`Validity`] and [`ClientCertificates`].
///
/// ```no_run
/// use zklock_testkit::{Authority, ClientCertificates, Tls, Validity, ZooKeeper};
/// use zookeeper_client::{Client, TlsOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let authority = Authority::new();
/// let tls = Tls::new(&authority).client_certificates(ClientCertificates::Required);
/// let zookeeper = ZooKeeper::builder().tls(tls).start()?;
///
/// let worker = authority.identity(["worker"], Validity::Now);
/// let options = TlsOptions::new()
///     .with_pem_ca(authority.certificate_pem())?
///     .with_pem_identity(worker.certificate_pem(), worker.key_pem())?;
/// let client = Client::connector().with_tls(options).connect(zookeeper.secure_connect_string()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "it has no effect until a server is started with it"]
pub struct Tls {
    authority: Authority,
    identity: Option<Identity>,
    client_certificates: ClientCertificates,
}

impl Tls {
    /// Returns the TLS of a server that has a certificate of `authority` for its IP address, and asks clients for
    /// none.
    pub fn new(authority: &Authority) -> Self {
        let client_certificates = ClientCertificates::Ignored;
        Self { authority: authority.clone(), identity: None, client_certificates }
    }

    /// Sets the certificate of the server, and its key (default: one of the authority for the server's IP address).
    pub fn identity(mut self, identity: &Identity) -> Self {
        self.identity = Some(identity.clone());
        self
    }

    /// Sets whether clients show a certificate of the same authority (default: [`ClientCertificates::Ignored`]).
    pub fn client_certificates(mut self, client_certificates: ClientCertificates) -> Self {
        self.client_certificates = client_certificates;
        self
    }

    /// Returns the authority whose client certificates the server accepts.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns the identity of a server with this IP address.
    pub(crate) fn identity_at(&self, ip: std::net::IpAddr) -> Identity {
        let issue = || self.authority.identity([ip.to_string()], Validity::Now);
        self.identity.clone().unwrap_or_else(issue)
    }

    /// Returns the value of ZooKeeper's `ssl.clientAuth`.
    pub(crate) fn client_auth(&self) -> &'static str {
        match self.client_certificates {
            ClientCertificates::Ignored => "none",
            ClientCertificates::Wanted => "want",
            ClientCertificates::Required => "need",
        }
    }
}

/// The certificates that a server asks its clients for, which are ZooKeeper's values of `ssl.clientAuth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificates {
    /// The server asks for none.
    Ignored,
    /// The server accepts clients without a certificate, and refuses a certificate of another authority.
    Wanted,
    /// The server refuses clients without a certificate of its authority.
    Required,
}
