//! A certificate authority.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
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
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
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
        Identity::issue(&self.issuer, names.into_iter().map(Into::into).collect(), validity)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_a_key() {
        let authority = Authority::new();
        let identity = authority.identity(["worker"], Validity::Now);
        let key = identity.key_pem().lines().nth(1).unwrap();
        assert!(!format!("{identity:?}").contains(key));
        let key = authority.issuer.key().serialize_pem();
        assert!(!format!("{authority:?}").contains(key.lines().nth(1).unwrap()));
    }

    #[test]
    #[should_panic(expected = "a name")]
    fn a_certificate_has_a_name() {
        Authority::new().identity([""; 0], Validity::Now);
    }
}
