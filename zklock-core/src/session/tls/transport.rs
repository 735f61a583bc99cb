//! The certificates that connections use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use zookeeper_client as zk;

use super::material::{Material, Texts};
use super::{Tls, handshake};
use crate::session::{Health, Session};

/// The certificates of a client, which are read again when they may have been rotated.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    tls: Tls,
    /// Those of the connections from now on.
    certs: zk::TlsDynamicCerts,
    used: Mutex<Used>,
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
        Ok(Self(Arc::new(Inner { tls, certs: zk::TlsDynamicCerts::new(certs), used })))
    }

    /// Returns the options of a connection.
    pub(in crate::session) fn options(&self) -> zk::TlsOptions {
        zk::TlsOptions::new().with_certs(self.0.certs.clone())
    }

    /// Reads the certificates again. Those that cannot be used are logged, and the earlier ones stay.
    pub(in crate::session) async fn renew(&self) {
        let transport = self.clone();
        let renewed = spawn_blocking(move || transport.0.renew()).await;
        if let Ok(Err(error)) = renewed {
            tracing::warn!(error, "cannot use the certificates for TLS; the earlier ones stay in use");
        }
    }

    /// Returns the reason why these servers and this client do not trust each other, if that is why there is no
    /// connection.
    pub(in crate::session) async fn refusal(&self, servers: &str, within: Duration) -> Option<String> {
        let (transport, servers) = (self.clone(), servers.to_owned());
        let config = transport.0.used.lock().unwrap_or_else(PoisonError::into_inner).config.clone();
        spawn_blocking(move || handshake::refusal(&servers, &config, within)).await.ok().flatten()
    }
}

impl Inner {
    fn renew(&self) -> Result<(), String> {
        let texts = Texts::read(&self.tls)?;
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

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_secs(1);
