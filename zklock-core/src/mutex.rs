//! The exclusive lock, reentrant or not.

use std::time::Duration;

use crate::acquire::{Count, Permits};
use crate::client::Client;
use crate::error::LockError;
use crate::guard::{Guard, OnePath};
use crate::hold::{Door, Entry};
use crate::participant::{self, Participant};
use crate::path::NodePath;
use crate::queue::claim::Role;

/// An exclusive lock at one path, for all processes that use the ensemble.
///
/// Those who wait are served in the order in which they entered the queue. One made by [`Client::mutex`] is
/// reentrant within one logical call: inside [`run`](Self::run) and [`MutexGuard::scope`] it is
/// entered again without a request, and elsewhere not, so a task that calls [`lock`](Self::lock) twice waits
/// for itself until the deadline. On the wire it is Curator's `InterProcessMutex`.
///
/// One made by [`Client::exclusive`] is Curator's `InterProcessSemaphoreMutex`: where the other is entered
/// again, this one is [`LockError::Reentrant`].
#[derive(Clone, Debug)]
pub struct Mutex {
    client: Client,
    door: Door,
}

/// A held [`Mutex`].
pub type MutexGuard = Guard<Mutex>;

impl OnePath for Mutex {}

impl Client {
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
}

impl Mutex {
    fn reentrant(client: Client, path: NodePath) -> Self {
        Self { client, door: Door::to_queue(path, Entry::Mutex, Role::Exclusive) }
    }

    fn sole(client: Client, path: NodePath) -> Self {
        let permit = Permits { wanted: 1, count: Count::Agreed(1) };
        Self { client, door: Door::to_permits(path, Entry::Sole, permit) }
    }

    pub(crate) fn into_door(self) -> Door {
        self.door
    }

    /// The lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.door.path.relative()
    }

    /// Also waits for contenders of other clients, known by what their names have in front of the sequence.
    ///
    /// `["__lock__", "__rlock__"]` are kazoo's. This is one direction: for the other, kazoo must be told of
    /// ours by `extra_lock_patterns=["-lock-"]`, and Curator cannot be told of kazoo's at all. Names that are
    /// not in the list are ignored, with one warning for each path. It has no effect on a lock of
    /// [`Client::exclusive`], whose queue no other client has.
    #[must_use]
    pub fn also_behind(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<_> = names.into_iter().map(Into::into).collect();
        Self { client: self.client, door: self.door.also_behind(&names) }
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
    /// * [`LockError::Reentrant`] if it holds it already, and the lock is not reentrant.
    /// * [`LockError::MixedRecipes`], [`LockError::PermitsDiffer`] if the path is in use by another kind of
    ///   lock.
    /// * [`LockError::AuthFailed`], [`LockError::InvalidConfig`] if no further session can be opened.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MutexGuard, LockError> {
        Ok(MutexGuard::new(&self.client, self.door.enter(&self.client, wait).await?))
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
        let holds = self.door.try_enter(&self.client).await?;
        Ok(holds.map(|holds| MutexGuard::new(&self.client, holds)))
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
        participant::list(self.client.worker(), &self.door).await
    }
}
