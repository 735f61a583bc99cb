//! A certificate with its key.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
    SerialNumber,
};

/// A certificate with its private key, which [`Authority::identity`](crate::Authority::identity) issues.
#[derive(Clone)]
pub struct Identity {
    certificate: String,
    key: String,
    serial: u64,
}

impl Identity {
    pub(super) fn issue(issuer: &Issuer<'_, KeyPair>, names: Vec<String>, validity: Validity) -> Self {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        let first = names.first().expect("a certificate has a name").clone();
        let mut parameters = CertificateParams::new(names).expect("a name in a certificate is ASCII");
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, first);
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        parameters.serial_number = Some(serial.into());
        validity.set(&mut parameters);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = parameters.signed_by(&key, issuer).expect("the parameters are complete");
        Self { certificate: certificate.pem(), key: key.serialize_pem(), serial }
    }

    /// Returns the number by which a revocation list of its authority names the certificate.
    pub(super) fn serial(&self) -> SerialNumber {
        self.serial.into()
    }

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
    pub(super) fn set(self, parameters: &mut CertificateParams) {
        let (begin, end) = self.days();
        (parameters.not_before, parameters.not_after) = (begin.into(), end.into());
    }

    /// Returns the begin and the end.
    pub(super) fn days(self) -> (SystemTime, SystemTime) {
        let now = SystemTime::now();
        match self {
            Self::Now => (now - DAY, now + DAY),
            Self::Expired => (now - 2 * DAY, now - DAY),
            Self::NotYet => (now + DAY, now + 2 * DAY),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
