//! Certificates and keys, read and checked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client as zk;

use super::{Pem, Tls};
use crate::session::bounded;

/// Certificates that connections can use.
pub(super) struct Material {
    pub(super) certs: zk::TlsCerts,
    /// The same, for a handshake of zklock's own.
    pub(super) config: Arc<ClientConfig>,
}

impl Material {
    /// Reads and checks the certificates. Blocks the thread for as long as the files take. The error names the text that
    /// is wrong, and shows nothing of it.
    pub(super) fn load(tls: &Tls) -> Result<Self, String> {
        let wrong = |pem: &Pem, part: &str, reason: &str| format!("{}: {reason}", named(pem, part));
        let text = read(&tls.authorities)?;
        let roots =
            authorities(&text).map_err(|reason| wrong(&tls.authorities, "the authorities", &reason))?;
        let ca = zk::TlsCa::from_pem(&text)
            .map_err(|error| wrong(&tls.authorities, "the authorities", &error.to_string()))?;
        let lists =
            revocations(&text).map_err(|reason| wrong(&tls.authorities, "the revocation lists", &reason))?;
        let provider = provider();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier
            .with_crls(lists)
            .build()
            .map_err(|error| wrong(&tls.authorities, "the revocation lists", &error.to_string()))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_webpki_verifier(verifier);
        let certs = zk::TlsCerts::builder().with_ca(ca);
        let (certs, config) = match &tls.identity {
            Some((chain_pem, key_pem)) => {
                let (chain, key) = (read(chain_pem)?, read(key_pem)?);
                let own = chain_of(&chain).map_err(|reason| wrong(chain_pem, "the certificate", &reason))?;
                let own_key = key_of(&key).map_err(|reason| wrong(key_pem, "the key", &reason))?;
                let config = builder.with_client_auth_cert(own, own_key);
                let config = config.map_err(|error| wrong(key_pem, "the key", &error.to_string()))?;
                let identity = zk::TlsIdentity::from_pem(&chain, &key)
                    .map_err(|error| wrong(chain_pem, "the certificate", &error.to_string()))?;
                (certs.with_identity(identity), config)
            }
            None => (certs, builder.with_no_client_auth()),
        };
        let certs = certs.build().map_err(|error| error.to_string())?;
        Ok(Self { certs, config: Arc::new(config) })
    }
}

fn read(pem: &Pem) -> Result<String, String> {
    match pem {
        Pem::Text(text) => Ok(text.to_string()),
        Pem::File(file) => bounded::read(file, LONGEST_FILE)
            .map_err(|error| format!("cannot read {}: {error}", file.display())),
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

fn authorities(text: &str) -> Result<RootCertStore, String> {
    let certificates = certificates(text)?;
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
    let chain = certificates(text)?;
    if chain.is_empty() { Err("it has no certificate".to_owned()) } else { Ok(chain) }
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(text.as_bytes());
    certificates.collect::<Result<_, _>>().map_err(|_| "it is malformed PEM".to_owned())
}

fn revocations(text: &str) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let lists = CertificateRevocationListDer::pem_slice_iter(text.as_bytes());
    lists.collect::<Result<_, _>>().map_err(|_| "it is malformed PEM".to_owned())
}

fn key_of(text: &str) -> Result<PrivateKeyDer<'static>, String> {
    use rustls::pki_types::pem::Error;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        Error::NoItemsFound => "it has no private key, or an encrypted one".to_owned(),
        _ => "it is malformed PEM".to_owned(),
    })
}

/// The name of a text in errors.
fn named(pem: &Pem, part: &str) -> String {
    match pem {
        Pem::File(file) => format!("{part} in {}", file.display()),
        Pem::Text(_) => part.to_owned(),
    }
}

/// The longest file in bytes. The authorities of a system take a quarter of it.
const LONGEST_FILE: u64 = 1024 * 1024;
