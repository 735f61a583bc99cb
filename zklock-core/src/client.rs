//! A handle on the locks of one ensemble.

pub(crate) mod config;
mod connect_string;
mod readiness;
pub(crate) mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LockError;
use crate::events::Events;
use crate::guard::MultiGuard;
use crate::leader::Roster;
use crate::lease::REVOKE;
use crate::multi::{Member, MultiLock};
use crate::mutex::Mutex;
use crate::participant::Participant;
use crate::path::NodePath;
use crate::rwlock::RwLock;
use crate::semaphore::{Permits, Semaphore};
use crate::session::fault::Fault;
use crate::session::{Health, Session};

pub use self::readiness::Readiness;
use self::worker::Worker;

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
    roster: Roster,
}

impl Client {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        Self { owner: Arc::new(Owner { worker, roster: Roster::default() }) }
    }

    /// The lock at `path`, an absolute path below the client's namespace.
    ///
    /// Nothing is sent. A mutex at one path is the same lock in all processes, and as Curator's
    /// `InterProcessMutex` there.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidPath`] where ZooKeeper does not allow the path: it must start with `/`, have no
    /// empty or relative segment, no control character, and fewer than a million bytes.
    pub fn mutex(&self, path: impl AsRef<str>) -> Result<Mutex, LockError> {
        Ok(Mutex::reentrant(self.clone(), self.path(path)?))
    }

    /// The lock at `path` that is not reentrant: entering it inside of itself is an error, and no deadlock.
    ///
    /// Nothing is sent. It is the same lock in all processes, and as Curator's `InterProcessSemaphoreMutex`
    /// there; it is none with [`mutex`](Self::mutex) at the same path. As a semaphore of one permit it says so in
    /// the data of its node; see [`semaphore`](Self::semaphore).
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn exclusive(&self, path: impl AsRef<str>) -> Result<Mutex, LockError> {
        Ok(Mutex::sole(self.clone(), self.path(path)?))
    }

    /// The lock at `path` that many may hold for reading, or one for writing.
    ///
    /// Nothing is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn rwlock(&self, path: impl AsRef<str>) -> Result<RwLock, LockError> {
        Ok(RwLock::new(self.clone(), self.path(path)?))
    }

    /// The semaphore at `path`, with so many permits in the whole fleet.
    ///
    /// Nothing is sent. All participants must give the same number, which is checked against those who have
    /// permits when one is taken, or go by a number in one node: [`Permits::shared`]. Which it is stands in the
    /// data of the node at `path`, which this client writes when nobody has a permit, unless it is of another
    /// kind; where the ACLs deny that, taking permits is denied.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex), and [`LockError::InvalidPermits`] for a number of zero.
    pub fn semaphore(
        &self,
        path: impl AsRef<str>,
        permits: impl Into<Permits>,
    ) -> Result<Semaphore, LockError> {
        Semaphore::new(self.clone(), self.path(path)?, permits.into())
    }

    /// Several locks as one: all are held, or none. A member that is only a path is the mutex there.
    ///
    /// Nothing is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex), and [`LockError::InvalidGroup`] where there is none, or a path is named
    /// twice.
    pub fn multi(
        &self,
        members: impl IntoIterator<Item = impl Into<Member>>,
    ) -> Result<MultiLock, LockError> {
        MultiLock::new(self.clone(), members)
    }

    /// Takes several locks, all or none, waiting for at most the client's default wait in all.
    ///
    /// # Errors
    ///
    /// Those of [`multi`](Self::multi) and [`MultiLock::lock`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let both = client.lock_all(["/accounts/7", "/accounts/9"]).await?;
    /// both.release().await
    /// # }
    /// ```
    pub async fn lock_all(
        &self,
        members: impl IntoIterator<Item = impl Into<Member>>,
    ) -> Result<MultiGuard, LockError> {
        self.multi(members)?.lock().await
    }

    /// Asks a holder to release its lock; see [`MutexGuard::revoked`](crate::MutexGuard::revoked).
    ///
    /// The holder decides. On the wire it is Curator's `Revoker`, so that holders in Java are asked too, who
    /// made their lock revocable. A participant that is gone needs not be asked, which is no error.
    ///
    /// # Errors
    ///
    /// [`LockError::Denied`], [`LockError::Timeout`] after the client's default wait, [`LockError::Closed`], or
    /// [`LockError::OutcomeUnknown`] where the connection broke.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn revoke(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let ask = move |session: Arc<Session>| async move {
            match session.ops().write(&node, REVOKE, None).await {
                Err(Fault::NoNode) => Ok(()),
                outcome => outcome,
            }
        };
        self.worker().ask(&queue, ask).await
    }

    /// Takes a participant's place away by force, whether it holds the lock or waits for it.
    ///
    /// The lock is handed on at once; a holder that uses zklock learns only then that it lost it, so for that
    /// moment nothing but the fencing token and guarded writes tell the two apart. One that waits enters the
    /// queue again at its tail. A participant that is gone is no error.
    ///
    /// # Errors
    ///
    /// Those of [`revoke`](Self::revoke).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn break_lock(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let delete = move |session: Arc<Session>| async move { session.ops().delete(&node).await };
        self.worker().ask(&queue, delete).await
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

    /// The elections that this client is in by itself.
    pub(crate) fn roster(&self) -> &Roster {
        &self.owner.roster
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
