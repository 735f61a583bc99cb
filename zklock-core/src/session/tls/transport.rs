//! The certificates that connections use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::time::{sleep, timeout};
use zookeeper_client as zk;

use super::Tls;
use super::handshake::{self, Verdict};
use super::material::{Material, Texts};
use crate::session::{Health, Session, apart};

/// The certificates of a client, which are read again when they may have been rotated.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    tls: Tls,
    /// Those of the connections from now on.
    certs: zk::TlsDynamicCerts,
    used: Mutex<Used>,
    /// Whether a thread reads the files.
    is_reading: AtomicBool,
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
        let (certs, is_reading) = (zk::TlsDynamicCerts::new(certs), AtomicBool::new(false));
        Ok(Self(Arc::new(Inner { tls, certs, used, is_reading, told: Mutex::default() })))
    }

    /// Returns the options of a connection.
    pub(in crate::session) fn options(&self) -> zk::TlsOptions {
        zk::TlsOptions::new().with_certs(self.0.certs.clone())
    }

    /// Reads the certificates again. Those that cannot be used are logged, and the earlier ones stay.
    pub(in crate::session) async fn renew(&self) {
        // A thread that waits for the files is enough, however long it takes.
        if self.0.is_reading.swap(true, Ordering::AcqRel) {
            return;
        }
        let transport = self.clone();
        let renewed = timeout(RENEW_WITHIN, apart(move || transport.0.renew())).await;
        if let Ok(None) = renewed {
            // No thread could be started.
            self.0.is_reading.store(false, Ordering::Release);
        }
        let late = || Err("the files were not read in time".to_owned());
        self.tell(renewed.ok().flatten().unwrap_or_else(late).err());
    }

    /// Looks for the reasons why there is no connection to any of these servers.
    pub(in crate::session) async fn verdict(&self, servers: &str, within: Duration) -> Option<Verdict> {
        let config = self.0.used.lock().unwrap_or_else(PoisonError::into_inner).config.clone();
        let servers = servers.to_owned();
        let found = apart(move || handshake::verdict(&servers, &config, within));
        // The search for an address has no bound of its own.
        timeout(within * 2, found).await.ok().flatten().flatten()
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
        let texts = Texts::read_until(Instant::now() + PIPES_WITHIN, &self.tls);
        self.is_reading.store(false, Ordering::Release);
        let texts = texts?;
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

/// Runs work that blocks on a thread of its own, for which neither the client nor its end has to wait.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    apart::start("zklock-tls", work).ok()?.await.ok()
}

/// Reads rotated certificates while the connection of a session is broken, until the session ends.
pub(in crate::session) async fn keep_fresh(session: Arc<Session>, transport: Transport) {
    let mut link = session.link.subscribe();
    let ended = session.over();
    let kept = async {
        while link.wait_for(|link| link.health == Health::Suspended).await.is_ok() {
            transport.renew().await;
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = ended => {}
        () = kept => {}
    }
}

/// The longest wait for the files, which may be on a file system that does not answer.
const RENEW_WITHIN: Duration = Duration::from_secs(5);
/// The longest wait for files that are pipes. The thread goes on after that, so that later files can be read.
const PIPES_WITHIN: Duration = Duration::from_secs(1);
/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_secs(1);
