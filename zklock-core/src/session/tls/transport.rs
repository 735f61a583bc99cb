//! The certificates that connections use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::time::timeout;
use zookeeper_client as zk;

use super::Tls;
use super::material::{Material, Texts};
use crate::session::apart::Single;

/// The certificates of a client, which are read again when they may have been rotated.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    tls: Tls,
    /// Those of the connections from now on.
    certs: zk::TlsDynamicCerts,
    used: Mutex<Used>,
    /// The thread that reads the files.
    reading: Single<Result<(), String>>,
    /// Why the certificates could not be used the last time.
    told: Mutex<Option<String>>,
}

/// The texts that are in use, and what they are for a handshake.
struct Used {
    texts: Texts,
    config: Arc<ClientConfig>,
}

impl Transport {
    /// Reads and checks the certificates. Blocks the thread for as long as the files take.
    pub(crate) fn new(tls: Tls) -> Result<Self, String> {
        let texts = Texts::read(&tls)?;
        let Material { certs, config } = texts.check(&tls)?;
        let used = Mutex::new(Used { texts, config });
        let (certs, told) = (zk::TlsDynamicCerts::new(certs), Mutex::default());
        Ok(Self(Arc::new(Inner { tls, certs, used, reading: Single::default(), told })))
    }

    /// Returns the options of a connection.
    pub(in crate::session) fn options(&self) -> zk::TlsOptions {
        zk::TlsOptions::new().with_certs(self.0.certs.clone())
    }

    /// Reads the certificates again. Those that cannot be used are logged, and the earlier ones stay.
    pub(in crate::session) async fn renew(&self) {
        let transport = self.clone();
        let renewed = self.0.reading.outcome_if_idle(THREAD, move || transport.0.renew());
        self.tell(match timeout(RENEW_WITHIN, renewed).await {
            // Connections do not wait again for files that have not answered in time.
            Ok(None) => return,
            Ok(Some(Ok(renewed))) => renewed.err(),
            Ok(Some(Err(error))) => Some(format!("the files were not read: {error}")),
            Err(_) => Some("the files were not read in time".to_owned()),
        });
    }

    /// Returns the certificates for a handshake of zklock's own.
    pub(in crate::session) fn certificates(&self) -> Arc<ClientConfig> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner).config.clone()
    }

    /// Logs why the certificates cannot be used, if that is news.
    fn tell(&self, failure: Option<String>) {
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure.as_deref().filter(|_| failure != *told) {
            tracing::warn!(error, "cannot use the certificates for TLS; the earlier ones stay in use");
        }
        *told = failure;
    }
}

impl Inner {
    fn renew(&self) -> Result<(), String> {
        let texts = Texts::read_until(Instant::now() + PIPES_WITHIN, &self.tls)?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.texts == texts {
            return Ok(());
        }
        let Material { certs, config } = texts.check(&self.tls)?;
        self.certs.update(certs);
        *used = Used { texts, config };
        tracing::info!("the certificates for TLS were read again");
        Ok(())
    }
}

/// The name of the threads.
const THREAD: &str = "zklock-tls";
/// The longest wait for the files, which may be on a file system that does not answer.
const RENEW_WITHIN: Duration = Duration::from_secs(5);
/// The longest wait for files that are pipes. The thread goes on after that, so that later files can be read.
const PIPES_WITHIN: Duration = Duration::from_secs(1);
