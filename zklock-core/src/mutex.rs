//! The exclusive, reentrant lock.

mod guard;
mod participant;

use std::sync::Arc;
use std::time::Duration;

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::hold;
use crate::path::NodePath;
use crate::session::drive::Contention;

pub use self::guard::MutexGuard;
pub use self::participant::Participant;

/// An exclusive lock at one path, for all processes that use the ensemble.
///
/// Those who wait are served in the order in which they entered the queue. The lock is reentrant within
/// one logical call: inside [`run`](Self::run) and [`MutexGuard::scope`] it is entered again without a
/// request, and elsewhere not, so a task that calls [`lock`](Self::lock) twice waits for itself until the
/// deadline. On the wire it is Curator's `InterProcessMutex`.
#[derive(Clone, Debug)]
pub struct Mutex {
    client: Client,
    path: NodePath,
}

impl Mutex {
    pub(crate) fn new(client: Client, path: NodePath) -> Self {
        Self { client, path }
    }

    /// The lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.path.relative()
    }

    /// Takes the lock, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/orders/7")?.lock().await?;
    /// println!("holding with token {}", guard.fencing_token());
    /// guard.release().await
    /// # }
    /// ```
    pub async fn lock(&self) -> Result<MutexGuard, LockError> {
        self.lock_timeout(self.client.default_wait()).await
    }

    /// Takes the lock, waiting for at most `wait` in all, connection included.
    ///
    /// [`Duration::MAX`] waits for ever. If the session ends meanwhile, the next one enters the queue
    /// at its tail.
    ///
    /// # Errors
    ///
    /// * [`LockError::Timeout`] says what was still being waited for.
    /// * [`LockError::InvalidWait`] if `wait` is zero.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client contend.
    /// * [`LockError::Lost`] if the current call holds the lock already and has lost it.
    /// * [`LockError::AuthFailed`], [`LockError::InvalidConfig`] if no further session can be opened.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MutexGuard, LockError> {
        if wait.is_zero() {
            let path = self.path().to_owned();
            return Err(LockError::InvalidWait {
                path,
                reason: "zero leaves no time to ask; use `try_lock`",
            });
        }
        match self.enter(Patience::new(wait, Contention::Wait)).await? {
            Some(guard) => Ok(guard),
            // Only a contender that does not wait leaves in this way.
            None => {
                Err(LockError::Timeout { path: self.path().to_owned(), waited: wait, phase: Phase::Queued })
            }
        }
    }

    /// Takes the lock if nobody has it and nobody waits for it; `Ok(None)` if somebody does.
    ///
    /// The requests that find out are bounded by the client's default wait. When this returns `Ok(None)`
    /// its contender has been withdrawn.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background.
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        self.enter(Patience::new(self.client.default_wait(), Contention::Leave)).await
    }

    /// Takes the lock, runs `body` under it, and releases it.
    ///
    /// The body may enter the lock again. If the lock is lost, the body is dropped at its next await and
    /// the result is [`LockError::Lost`]: `Ok` means that the lock was held until the body ended. A failed
    /// release is logged and does not replace the body's result.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body where it is, and then releases the lock in the background.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let total = client
    ///     .mutex("/ledger")?
    ///     .run(async |held| {
    ///         println!("token {}", held.fencing_token());
    ///         42
    ///     })
    ///     .await?;
    /// assert_eq!(total, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T>(&self, body: impl AsyncFnOnce(&MutexGuard) -> T) -> Result<T, LockError> {
        let guard = self.lock().await?;
        let value = guard.run(body(&guard)).await?;
        guard.finish().await;
        Ok(value)
    }

    /// Lists who holds the lock and who waits for it, in the order of the queue; the first is the holder.
    ///
    /// A lock that nobody ever wanted has none.
    ///
    /// # Errors
    ///
    /// [`LockError::Denied`], [`LockError::Timeout`] after the client's default wait, or
    /// [`LockError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list(self.client.worker(), &self.path).await
    }

    async fn enter(&self, patience: Patience) -> Result<Option<MutexGuard>, LockError> {
        let hold = hold::enter(&self.client, &self.path, patience).await?;
        Ok(hold.map(|hold| MutexGuard::new(Arc::new(hold))))
    }
}
