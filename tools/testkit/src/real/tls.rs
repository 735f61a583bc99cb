//! Certificates for tests, and the TLS of real servers.
//!
//! This module needs the feature `tls`.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber,
};

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
    pub(crate) fn identity_at(&self, ip: IpAddr) -> Identity {
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

/// A certificate authority that lasts as long as a test, and whose key never leaves this process.
///
/// Its clones are the same authority. Each call of [`new`](Self::new) makes another one, which does not trust the
/// certificates of the first.
///
/// ```
/// use zklock_testkit::{Authority, Validity};
///
/// let authority = Authority::new();
/// let client = authority.identity(["worker"], Validity::Now);
/// assert!(authority.certificate_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// assert!(client.key_pem().starts_with("-----BEGIN PRIVATE KEY-----"));
/// ```
#[derive(Clone)]
pub struct Authority {
    issuer: Arc<CertifiedIssuer<'static, KeyPair>>,
    certificate: Arc<str>,
}

impl Authority {
    /// Makes an authority with a new key.
    ///
    /// # Panics
    ///
    /// Panics if the system has no random numbers for a key.
    pub fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named("zklock-testkit");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Validity::Now.set(&mut parameters);
        let key = KeyPair::generate().expect("a key can be made");
        let issuer = CertifiedIssuer::self_signed(parameters, key).expect("the parameters are complete");
        let certificate = issuer.pem().into();
        Self { issuer: Arc::new(issuer), certificate }
    }

    /// Returns the certificate of the authority as PEM, for clients to trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// Issues a certificate with a new key, for servers and clients alike.
    ///
    /// It is valid for each of `names`, which are host names or IP addresses. Its subject is `CN=NAME` with the first
    /// name. ZooKeeper knows a client with this certificate as that subject, in the scheme `x509`.
    ///
    /// # Panics
    ///
    /// Panics if there is no name, if a name is not ASCII, or if the system has no random numbers for a key.
    pub fn identity<N: Into<String>>(
        &self,
        names: impl IntoIterator<Item = N>,
        validity: Validity,
    ) -> Identity {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let first = names.first().expect("a certificate has a name").clone();
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut parameters = CertificateParams::new(names).expect("a name in a certificate is ASCII");
        parameters.distinguished_name = named(&first);
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        parameters.serial_number = Some(serial.into());
        validity.set(&mut parameters);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("the parameters are complete");
        Identity { certificate: certificate.pem(), key: key.serialize_pem(), serial }
    }

    /// Returns a revocation list of the authority as PEM, with the certificates that it has revoked so far.
    ///
    /// It is valid from yesterday until tomorrow.
    pub fn revocation_list<'a>(&self, revoked: impl IntoIterator<Item = &'a Identity>) -> String {
        let revoked = revoked.into_iter().map(|identity| RevokedCertParams {
            serial_number: identity.serial.into(),
            revocation_time: SystemTime::now().into(),
            reason_code: None,
            invalidity_date: None,
        });
        let (this_update, next_update) = Validity::Now.days();
        let list = CertificateRevocationListParams {
            this_update: this_update.into(),
            next_update: next_update.into(),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let signed = list.signed_by(&self.issuer).expect("the authority may sign lists");
        signed.pem().expect("a list can be PEM")
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the certificate and not the key.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate with its private key, which [`Authority::identity`](crate::Authority::identity) issues.
#[derive(Clone)]
pub struct Identity {
    certificate: String,
    key: String,
    /// The number by which a revocation list of its authority names the certificate.
    serial: u64,
}

impl Identity {
    /// Returns the certificate as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// Returns the private key as PEM, in the form of PKCS #8.
    pub fn key_pem(&self) -> &str {
        &self.key
    }
}

/// Shows the certificate and not the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The days on which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// From yesterday until tomorrow.
    Now,
    /// For one day, which ended yesterday.
    Expired,
    /// For one day, which begins tomorrow.
    NotYet,
}

impl Validity {
    fn set(self, parameters: &mut CertificateParams) {
        let (begin, end) = self.days();
        (parameters.not_before, parameters.not_after) = (begin.into(), end.into());
    }

    /// Returns the begin and the end.
    fn days(self) -> (SystemTime, SystemTime) {
        let now = SystemTime::now();
        match self {
            Self::Now => (now - DAY, now + DAY),
            Self::Expired => (now - 2 * DAY, now - DAY),
            Self::NotYet => (now + DAY, now + 2 * DAY),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
