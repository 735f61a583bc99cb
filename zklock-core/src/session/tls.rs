//! Encrypted connections.
//!
//! * [`material`] reads and checks the certificates.
//! * [`transport`] has those that connections use, and reads rotated ones.

mod material;
mod transport;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::transport::Transport;

/// The certificates of encrypted connections.
///
/// The client refuses a server whose certificate was not issued by one of these authorities, is not valid now, is on a
/// revocation list of the authorities, or does not name the host that the connect string has. These checks cannot be
/// switched off. With an [identity](Self::identity_files), the client proves to the servers who it is.
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

    fn files(&self) -> impl Iterator<Item = &Path> {
        let identity = self.identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        std::iter::once(&self.authorities).chain(identity).filter_map(|pem| match pem {
            Pem::File(file) => Some(file.as_path()),
            Pem::Text(_) => None,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let tls = Tls::ca_file("/ca.pem").identity_pem("certificate", "secret");
        assert_eq!(format!("{tls:?}"), r#"Tls { authorities: "/ca.pem", identity: Some((.., ..)) }"#);
    }

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
