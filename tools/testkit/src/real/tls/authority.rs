//! A certificate authority.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName,
    DnType, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};

use super::identity::{Identity, Validity};

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
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, "zklock-testkit");
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
    /// ```
    /// use zklock_testkit::{Authority, Validity};
    ///
    /// let authority = Authority::new();
    /// let outdated = authority.identity(["localhost", "127.0.0.1"], Validity::Expired);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if there is no name, if a name is not ASCII, or if the system has no random numbers for a key.
    pub fn identity<N: Into<String>>(
        &self,
        names: impl IntoIterator<Item = N>,
        validity: Validity,
    ) -> Identity {
        let names = names.into_iter().map(Into::into).collect();
        Identity::issue(&self.issuer, names, validity)
    }

    /// Returns a revocation list of the authority as PEM, with the certificates that it has revoked so far.
    ///
    /// It is valid from yesterday until tomorrow.
    ///
    /// ```
    /// use zklock_testkit::{Authority, Validity};
    ///
    /// let authority = Authority::new();
    /// let stolen = authority.identity(["worker"], Validity::Now);
    /// let list = authority.revocation_list([&stolen]);
    /// assert!(list.starts_with("-----BEGIN X509 CRL-----"));
    /// ```
    pub fn revocation_list<'a>(&self, revoked: impl IntoIterator<Item = &'a Identity>) -> String {
        let revoked = revoked.into_iter().map(|identity| RevokedCertParams {
            serial_number: identity.serial(),
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
