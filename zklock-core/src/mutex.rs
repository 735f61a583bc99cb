//! The mutex: an exclusive lock, reentrant or not.

use std::borrow::Cow;
use std::time::Duration;

use crate::client::Client;
use crate::error::LockError;
use crate::guard::{self, Guard};
use crate::hold::{Access, LockRef};
use crate::participant::{self, Participant};

/// An exclusive lock at one path, shared by all processes that use the ensemble.
///
/// Calls of one client are served in the order in which they came, and clients in the order in which they entered
/// the queue. While other clients wait, a client passes the lock on to its own calls until it has made 64 grants or
/// 50 ms are over, unless it is configured otherwise; see [`Queueing`](crate::Queueing).
///
/// A mutex from [`Client::mutex`] is reentrant within one logical call: a future inside [`run`](Self::run) or
/// [`MutexGuard::scope`] enters it again without a request. Outside of them it is not reentrant, so a task
/// that calls [`lock`](Self::lock) twice waits for itself until the deadline. On the wire, such a mutex is
/// Curator's `InterProcessMutex`.
///
/// A mutex from [`Client::exclusive`] is not reentrant: a future inside [`run`](Self::run) or
/// [`MutexGuard::scope`] that enters it again gets [`LockError::Reentrant`]. On the wire, such a mutex is
/// Curator's `InterProcessSemaphoreMutex`.
#[derive(Clone, Debug)]
pub struct Mutex {
    client: Client,
    lock: LockRef,
}

/// A held [`Mutex`].
pub type MutexGuard = Guard<Mutex>;

impl Client {
    /// Returns the mutex at `path`, an absolute path below the client's namespace.
    ///
    /// No request is sent. The mutex at a path is the same lock in all processes, including those that use
    /// Curator's `InterProcessMutex` at that path.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidPath`] if the path is invalid. A path starts with `/`. None of its segments is empty, `.` or
    /// `..`. It contains no character that ZooKeeper refuses (`PathUtils.validatePath`): control characters, U+E000 to
    /// U+F8FF, and U+FFF0 and above, which includes most emoji. It has at most 1,000,000 bytes, including the chroot
    /// and the namespace. The root `/` is invalid too, and so are the servers' own `/zookeeper` and all paths below it,
    /// without a chroot and a namespace.
    pub fn mutex(&self, path: impl AsRef<str>) -> Result<Mutex, LockError> {
        let lock = LockRef::of(self.path(path)?, Access::Mutex);
        Ok(Mutex { client: self.clone(), lock })
    }

    /// Returns the mutex at `path` that is not reentrant: a logical call that enters it again gets an error.
    ///
    /// No request is sent. The mutex is the same lock in all processes, including those that use Curator's
    /// `InterProcessSemaphoreMutex` at that path. It is not the same lock as the [`mutex`](Self::mutex) at
    /// that path. It is a semaphore with one permit, and the data of its node states that number; see
    /// [`semaphore`](Self::semaphore).
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn exclusive(&self, path: impl AsRef<str>) -> Result<Mutex, LockError> {
        let lock = LockRef::of(self.path(path)?, Access::NonReentrantMutex);
        Ok(Mutex { client: self.clone(), lock })
    }
}

impl Mutex {
    /// Returns the lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.lock.path.relative()
    }

    /// Makes this mutex also wait for contenders of other client libraries. Each of `names` is the part of
    /// their node names directly in front of the sequence number.
    ///
    /// For kazoo, a Python client, use `["__lock__", "__rlock__"]`. This works in one direction only: for
    /// kazoo to wait for zklock's contenders, it needs `extra_lock_patterns=["-lock-"]`. Curator cannot be
    /// made to wait for kazoo's contenders. Children whose names are neither in the list nor Curator's are
    /// ignored, with one warning for each path.
    ///
    /// This method has no effect on a mutex from [`Client::exclusive`], because those libraries do not use
    /// the queue of such a mutex.
    #[must_use]
    pub fn also_behind(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<_> = names.into_iter().map(Into::into).collect();
        self.lock.wait_behind(&names);
        self
    }

    /// Names this mutex in events and metrics, instead of `unnamed`.
    ///
    /// Metrics have one series for each name. The name is therefore that of a purpose, such as `orders`, for all of
    /// its locks, and has no value of the path in it.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client, order: u64) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex(format!("/orders/{order}"))?.named("orders").lock().await?;
    /// # guard.release().await
    /// # }
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.lock.label = name.into();
        self
    }

    /// Acquires the lock, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
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

    /// Acquires the lock, waiting for at most `wait` in total, including the time to connect.
    ///
    /// [`Duration::MAX`] waits forever. If the session ends meanwhile, the attempt continues in the next
    /// session, at the tail of the queue.
    ///
    /// # Errors
    ///
    /// * [`LockError::Timeout`] if `wait` passes first; the error's phase tells what the attempt waited for.
    /// * [`LockError::InvalidWait`] if `wait` is zero.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client contend.
    /// * [`LockError::Lost`] if the logical call has entered this lock already, and the lock is lost; or if the
    ///   lock is acquired and lost again before the call returns, and no time is left.
    /// * [`LockError::Reentrant`] if the logical call already holds this lock, and the lock is not reentrant.
    /// * [`LockError::MixedRecipes`] if the path is in use by another kind of lock.
    /// * [`LockError::PermitsDiffer`], [`LockError::InvalidPermits`] if the mutex is from
    ///   [`Client::exclusive`], and other clients use its path as a semaphore with another number of permits
    ///   or with a shared number.
    /// * [`LockError::AuthFailed`], [`LockError::Tls`], [`LockError::InvalidConfig`] if no session can be opened.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MutexGuard, LockError> {
        guard::enter(&self.lock, &self.client, wait).await
    }

    /// Acquires the lock if no other contender holds it or waits for it, and returns `Ok(None)` otherwise.
    ///
    /// The call takes at most the client's default wait. When it returns `Ok(None)`, it has left no contender
    /// in the queue.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background, if no other call needs it.
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        guard::try_enter(&self.lock, &self.client).await
    }

    /// Acquires the lock within `wait`, or at once. For generated code.
    #[doc(hidden)]
    pub async fn take(&self, wait: Option<Duration>) -> Result<MutexGuard, LockError> {
        guard::take(&self.lock, &self.client, wait).await
    }

    /// Acquires the lock, runs `body` under it, and releases it.
    ///
    /// The body may enter a reentrant lock again. If the lock is lost, the body is dropped at its next await,
    /// and the result is [`LockError::Lost`]. `Ok` means that no loss was known when the body ended. The
    /// release ends in the background, unless the client is configured otherwise; see
    /// [`Release`](crate::Release). A release that fails is told to the listeners, and does not replace the
    /// body's result.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout), and [`LockError::Lost`] if the lock is lost during the
    /// body.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body at its current await, and then releases the lock in the background.
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
        guard::run(self.lock(), body).await
    }

    /// Lists the holder of the lock and then the waiters, in the order of the queue.
    ///
    /// The list is empty for a lock that was never used.
    ///
    /// # Errors
    ///
    /// * [`LockError::Denied`] if this client may not read the queue, [`LockError::Refused`] if the servers refuse
    ///   the request for another reason.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait.
    /// * [`LockError::AuthFailed`], [`LockError::Tls`], [`LockError::InvalidConfig`] if no session can be opened.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect on the lock.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list_with_line(&self.client, &self.lock).await
    }
}
