//! Encrypted connections: their certificates, which are read, checked, and read again when they may have been rotated.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client as zk;

use crate::change::Mutex;
use crate::tasks::{apart, read_file};
use crate::time::{Elapsed, timeout};

/// The certificates of encrypted connections.
///
/// The client refuses a server whose certificate was not issued by one of these authorities, is not valid now, is
/// on a revocation list of the authorities, or does not name the host that the connect string has. These checks
/// cannot be switched off. With an [identity](Self::identity_files), the client proves its name to the servers.
///
/// All texts and files are PEM. Files are read when the client starts, before it opens a session, and once a second
/// while the connection of a session is broken, so that a rotated certificate needs no restart. If files cannot be used
/// then, because they are half written or pipes, the client logs that and goes on with the earlier certificates.
///
/// The cryptography is that of the process's default provider of the crate `rustls`. If there is none, the client
/// installs `aws-lc-rs`, whose build needs a C compiler.
///
/// # Examples
///
/// ```no_run
/// use zklock_core::{Config, Tls};
///
/// # async fn example() -> Result<(), zklock_core::LockError> {
/// let tls = Tls::ca_file("/etc/zookeeper/ca.pem")
///     .identity_files("/etc/zookeeper/client.pem", "/etc/zookeeper/client.key");
/// let client = Config::new("zk1:2281,zk2:2281,zk3:2281").tls(tls).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "Files"))]
pub struct Tls {
    authorities: Pem,
    /// The certificate and its key.
    identity: Option<(Pem, Pem)>,
}

impl Tls {
    /// Trusts the authorities in a file.
    ///
    /// It may also have revocation lists. Then it needs one of each authority in the chain of a server.
    pub fn ca_file(file: impl Into<PathBuf>) -> Self {
        Self { authorities: Pem::File(file.into()), identity: None }
    }

    /// Trusts the authorities in a text, as [`ca_file`](Self::ca_file) does.
    pub fn ca_pem(text: impl Into<String>) -> Self {
        Self { authorities: Pem::text(text), identity: None }
    }

    /// Sets the client's certificate, with those that lead to its authority, and its private key, which is not
    /// encrypted.
    #[must_use]
    pub fn identity_files(self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let identity = (Pem::File(certificate.into()), Pem::File(key.into()));
        Self { identity: Some(identity), ..self }
    }

    /// Sets the same as [`identity_files`](Self::identity_files), from texts.
    #[must_use]
    pub fn identity_pem(self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        Self { identity: Some((Pem::text(certificate), Pem::text(key))), ..self }
    }

    /// Returns `true` if the client proves its name.
    pub(crate) fn has_identity(&self) -> bool {
        self.identity.is_some()
    }
}

/// A text in PEM, which may be a private key.
#[derive(Clone)]
enum Pem {
    File(PathBuf),
    Text(Arc<str>),
}

impl Pem {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into().into())
    }

    fn read(&self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.to_string()),
            // A pipe without a writer would keep the thread.
            Self::File(file) if file.metadata().is_ok_and(|file| !file.is_file()) => {
                Err(format!("{} is not a file", file.display()))
            }
            Self::File(file) => read_file(file, LONGEST_FILE),
        }
    }

    /// Returns the error that names this text, a part of the configuration.
    fn wrong(&self, part: &str, reason: impl fmt::Display) -> String {
        match self {
            Self::File(file) => format!("{part} in {}: {reason}", file.display()),
            Self::Text(_) => format!("{part}: {reason}"),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.fmt(f),
            Self::Text(_) => f.write_str(".."),
        }
    }
}

/// The files of a configuration.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Files {
    pub(crate) ca: PathBuf,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl TryFrom<Files> for Tls {
    type Error = &'static str;

    fn try_from(files: Files) -> Result<Self, Self::Error> {
        let tls = Self::ca_file(files.ca);
        match (files.certificate, files.key) {
            (None, None) => Ok(tls),
            (Some(certificate), Some(key)) => Ok(tls.identity_files(certificate, key)),
            (Some(_), None) => Err("a certificate needs its key"),
            (None, Some(_)) => Err("a key needs its certificate"),
        }
    }
}

/// The certificates of a client, which are read again for each connection, because they may have been rotated.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    tls: Tls,
    used: Mutex<Material>,
    /// Held by the thread that reads the files.
    reading: Arc<tokio::sync::Mutex<()>>,
    /// The reason that was logged last, unless the files were used since.
    told: Mutex<Option<String>>,
}

impl Transport {
    /// Reads and checks the certificates. Blocks the thread for as long as the files take.
    pub(crate) fn new(tls: Tls) -> Result<Self, String> {
        let used = Mutex::new(Material::load(&tls)?);
        Ok(Self(Arc::new(Inner { tls, used, reading: Arc::default(), told: Mutex::default() })))
    }

    /// Returns the options of a connection.
    pub(crate) fn options(&self) -> zk::TlsOptions {
        zk::TlsOptions::new().with_certs(self.0.used.lock().certs.clone())
    }

    /// Reads the certificates again. Those that cannot be used are logged, and the earlier ones stay.
    pub(crate) async fn renew(&self) {
        // No other thread waits for files that have not answered in time.
        let Ok(turn) = self.0.reading.clone().try_lock_owned() else { return };
        let inner = self.0.clone();
        let renewed = apart(move || {
            let renewed = Material::load(&inner.tls).map(|material| *inner.used.lock() = material);
            drop(turn);
            renewed
        });
        let error = match timeout(RENEW_WITHIN, renewed).await {
            Ok(Some(renewed)) => renewed.err(),
            Ok(None) => Some("no thread could read the files".to_owned()),
            Err(Elapsed) => Some("the files were not read in time".to_owned()),
        };
        let mut told = self.0.told.lock();
        if let Some(error) = error.as_ref().filter(|_| *told != error) {
            tracing::warn!(error, "cannot use the certificates for TLS; the earlier ones stay in use");
        }
        *told = error;
    }

    /// Returns the certificates for a handshake of zklock's own.
    pub(crate) fn certificates(&self) -> Arc<ClientConfig> {
        self.0.used.lock().config.clone()
    }
}

/// Certificates that connections can use.
struct Material {
    certs: zk::TlsCerts,
    /// The same, for a handshake of zklock's own.
    config: Arc<ClientConfig>,
}

impl Material {
    /// Reads and checks the certificates. Blocks the thread for as long as the files take. The error names the text that
    /// is wrong, and shows nothing of it.
    fn load(tls: &Tls) -> Result<Self, String> {
        let authorities = |reason: String| tls.authorities.wrong("the authorities", reason);
        let revocations = |reason: String| tls.authorities.wrong("the revocation lists", reason);
        let text = tls.authorities.read()?;
        let roots = roots_of(&text).map_err(authorities)?;
        let ca = zk::TlsCa::from_pem(&text).map_err(|error| authorities(error.to_string()))?;
        let lists = items(&text).map_err(revocations)?;
        let provider = provider();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier.with_crls(lists).build().map_err(|error| revocations(error.to_string()))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_webpki_verifier(verifier);
        let certs = zk::TlsCerts::builder().with_ca(ca);
        let (certs, config) = match &tls.identity {
            Some((chain_pem, key_pem)) => {
                let (chain, key) = (chain_pem.read()?, key_pem.read()?);
                let own = chain_of(&chain).map_err(|reason| chain_pem.wrong("the certificate", reason))?;
                let own_key = key_of(&key).map_err(|reason| key_pem.wrong("the key", reason))?;
                let config = builder.with_client_auth_cert(own, own_key);
                let config = config.map_err(|error| key_pem.wrong("the key", error))?;
                let identity = zk::TlsIdentity::from_pem(&chain, &key)
                    .map_err(|error| chain_pem.wrong("the certificate", error))?;
                (certs.with_identity(identity), config)
            }
            None => (certs, builder.with_no_client_auth()),
        };
        let certs = certs.build().map_err(|error| error.to_string())?;
        Ok(Self { certs, config: Arc::new(config) })
    }
}

/// Returns the provider of the process, as the client library uses it. Without one, that library panics if the process
/// was built with several.
fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| {
        let own = aws_lc_rs::default_provider();
        // Another thread may have installed one meanwhile.
        own.clone().install_default().ok();
        CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(own))
    })
}

fn roots_of(text: &str) -> Result<RootCertStore, String> {
    let certificates: Vec<CertificateDer<'_>> = items(text)?;
    let mut roots = RootCertStore::empty();
    // A bundle of a system may have certificates in old formats.
    let (used, unused) = roots.add_parsable_certificates(certificates);
    if used == 0 {
        let reason =
            if unused == 0 { "it has no certificate" } else { "none of its certificates can be used" };
        return Err(reason.to_owned());
    }
    Ok(roots)
}

fn chain_of(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Vec<_> = items(text)?;
    if chain.is_empty() { Err("it has no certificate".to_owned()) } else { Ok(chain) }
}

/// Returns all certificates, or all revocation lists, of a text.
fn items<T: PemObject>(text: &str) -> Result<Vec<T>, String> {
    T::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>().map_err(|_| "it is malformed PEM".to_owned())
}

fn key_of(text: &str) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        pem::Error::NoItemsFound => "it has no private key, or an encrypted one".to_owned(),
        _ => "it is malformed PEM".to_owned(),
    })
}

/// The longest wait for the files, which may be on a file system that does not answer.
const RENEW_WITHIN: Duration = Duration::from_secs(2);
/// The longest file in bytes. The authorities of a system take a quarter of it.
const LONGEST_FILE: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "serde")]
    #[test]
    fn the_files_are_read_from_what_serde_reads() {
        let read = |text: &str| serde_json::from_str::<Tls>(text).map_err(|error| error.to_string());
        assert!(!read(r#"{"ca": "a"}"#).unwrap().has_identity());
        assert!(read(r#"{"ca": "a", "certificate": "c", "key": "k"}"#).unwrap().has_identity());
        for (text, cause) in [
            (r#"{"ca": "a", "certificate": "c"}"#, "a certificate needs its key"),
            (r#"{"ca": "a", "key": "k"}"#, "a key needs its certificate"),
            (r#"{"certificate": "c", "key": "k"}"#, "missing field `ca`"),
            (r#"{"ca": "a", "cert": "c"}"#, "unknown field `cert`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(cause), "{error}");
        }
    }
}
