//! The certificates that connections use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blocking::unblock;
use rustls::ClientConfig;
use zookeeper_client as zk;

use crate::time::timeout;

use super::Tls;
use super::material::Material;

/// The certificates of a client, which are read again for each connection, because they may have been rotated.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    tls: Tls,
    used: Mutex<Used>,
    /// Held by the thread that reads the files.
    reading: Arc<tokio::sync::Mutex<()>>,
}

/// The certificates that are in use.
struct Used {
    material: Material,
    /// Why later ones could not be used.
    failure: Option<String>,
}

impl Transport {
    /// Reads and checks the certificates. Blocks the thread for as long as the files take.
    pub(crate) fn new(tls: Tls) -> Result<Self, String> {
        let used = Used { material: Material::load(&tls)?, failure: None };
        Ok(Self(Arc::new(Inner { tls, used: Mutex::new(used), reading: Arc::default() })))
    }

    /// Returns the options of a connection.
    pub(in crate::session) fn options(&self) -> zk::TlsOptions {
        zk::TlsOptions::new().with_certs(self.0.used().material.certs.clone())
    }

    /// Reads the certificates again. Those that cannot be used are logged, and the earlier ones stay.
    pub(in crate::session) async fn renew(&self) {
        // No other thread waits for files that have not answered in time.
        let Ok(turn) = self.0.reading.clone().try_lock_owned() else { return };
        let inner = self.0.clone();
        let renewed = unblock(move || {
            let renewed = inner.renew();
            drop(turn);
            renewed
        });
        self.0.tell(match timeout(RENEW_WITHIN, renewed).await {
            Ok(renewed) => renewed.err(),
            Err(_) => Some("the files were not read in time".to_owned()),
        });
    }

    /// Returns the certificates for a handshake of zklock's own.
    pub(in crate::session) fn certificates(&self) -> Arc<ClientConfig> {
        self.0.used().material.config.clone()
    }
}

impl Inner {
    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self) -> Result<(), String> {
        // A pipe may have no writer any more, and the thread would wait for one for ever.
        if let Some(file) = self.tls.files().find(|file| !file.is_file()) {
            return Err(format!("{} is not a regular file", file.display()));
        }
        let material = Material::load(&self.tls)?;
        self.used().material = material;
        Ok(())
    }

    /// Logs why the certificates cannot be used, if that is news.
    fn tell(&self, failure: Option<String>) {
        let mut used = self.used();
        if let Some(error) = failure.as_deref().filter(|_| failure != used.failure) {
            tracing::warn!(error, "cannot use the certificates for TLS; the earlier ones stay in use");
        }
        used.failure = failure;
    }
}

/// The longest wait for the files, which may be on a file system that does not answer.
const RENEW_WITHIN: Duration = Duration::from_secs(5);
