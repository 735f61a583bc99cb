//! A handle on the locks of one ensemble.

pub(crate) mod config;
mod connect_string;
mod readiness;
mod settings;
mod slot;
pub(crate) mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LockError;
use crate::events::Events;
use crate::path::NodePath;
use crate::session::Health;

use self::slot::Slot;
use self::worker::Worker;

pub use self::readiness::Readiness;

/// A handle on the locks of one ensemble, cheap to clone.
///
/// It owns one ZooKeeper session at a time, on a thread of its own, and opens the next by itself when
/// one ends: locks that were held are lost then, and new ones can be taken.
///
/// The session is closed when the last of the clones, locks and guards is dropped, in the background.
/// A process that exits before that leaves its locks to expire with the session; call
/// [`shutdown`](Self::shutdown) to leave nothing behind.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), zklock_core::LockError> {
/// let client = zklock_core::Config::new("127.0.0.1:2181").namespace("/billing").connect().await?;
/// let guard = client.mutex("/orders/7")?.lock().await?;
/// // … only one holder in the fleet gets here at a time …
/// guard.release().await?;
/// client.shutdown(std::time::Duration::from_secs(5)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    owner: Arc<Owner>,
}

/// Stops the worker when the last handle is gone.
struct Owner {
    worker: Arc<Worker>,
    candidates: Slot,
}

impl Client {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        Self { owner: Arc::new(Owner { worker, candidates: Slot::default() }) }
    }

    /// What happens to the locks of this client from now on.
    pub fn events(&self) -> Events {
        self.worker().listen()
    }

    /// What may be believed of the client's session now.
    pub fn health(&self) -> Health {
        self.worker().health()
    }

    /// Whether this client can take locks and lead now, from memory.
    pub fn readiness(&self) -> Readiness {
        if self.worker().closing().is_cancelled() { Readiness::Closing } else { self.health().into() }
    }

    /// The id of the current session, as servers print it; `None` while there is none.
    pub fn session_id(&self) -> Option<i64> {
        self.worker().current_session().map(|session| session.id())
    }

    /// The name by which others see this client's contenders.
    pub fn identity(&self) -> &str {
        self.worker().settings().identity.as_str()
    }

    /// The bound of acquisitions that name none.
    pub fn default_wait(&self) -> Duration {
        self.worker().default_wait()
    }

    /// Refuses new acquisitions, waits up to `grace` for guards to be released, and closes the session.
    ///
    /// Locks still held after `grace` are lost. Nothing of this client is left on the servers when this
    /// returns, unless they could not be reached; then it ends with the session's timeout. All clones of
    /// the client are shut down. Returns at the latest a few seconds after `grace`.
    ///
    /// # Cancel safety
    ///
    /// The shutdown goes on in the background.
    pub async fn shutdown(&self, grace: Duration) {
        self.worker().shutdown(grace).await;
    }

    pub(crate) fn path(&self, path: impl AsRef<str>) -> Result<NodePath, LockError> {
        NodePath::new(self.worker().root(), path.as_ref())
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.owner.worker
    }

    /// The place for the candidates that belong to the client, which end with it.
    pub(crate) fn candidates(&self) -> &Slot {
        &self.owner.candidates
    }

    /// Tells whether both handles are of one client.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}

impl AsRef<Self> for Client {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("servers", &self.worker().settings().opening.servers)
            .field("root", &self.worker().root())
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.worker.stop();
    }
}
