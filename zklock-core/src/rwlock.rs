//! The read-write lock: shared by readers, exclusive for a writer.

use std::borrow::Cow;
use std::time::Duration;

use crate::client::Client;
use crate::deadline::{Contention, Deadline};
use crate::error::LockError;
use crate::guard::{self, Guard};
use crate::hold::{self, Access, LockRef};
use crate::participant::{self, Participant};

/// A lock at one path that many readers may hold at a time, or one writer.
///
/// The readers and writers of one client are served in the order in which they came, and clients in the order in
/// which they entered the queue. A reader behind a waiting writer of its client waits too. While other clients
/// wait, a client passes the lock on to its own calls until it has made 64 grants or 50 ms are over, unless it is
/// configured otherwise; see [`Queueing`](crate::Queueing). No side starves. On the wire it is Curator's
/// `InterProcessReadWriteLock`.
///
/// Within one logical call (see [`run_read`](Self::run_read), [`run_write`](Self::run_write) and
/// [`ReadGuard::scope`]), each side is reentrant, and a writer may also read. A reader may not write: it
/// would wait for itself, so the attempt fails at once with [`LockError::Upgrade`].
///
/// A writer can stop writing and continue to read: by [`WriteGuard::downgrade`], or by releasing its write
/// guard before a read guard that it acquired inside. The lock is then held for reading, and no other writer
/// can acquire it in between.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let catalogue = client.rwlock("/catalogue")?;
/// let writer = catalogue.write().await?;
/// // … change it, then go on reading together with other readers …
/// let reader = writer.downgrade().await?;
/// reader.release().await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RwLock {
    client: Client,
    read: LockRef,
    write: LockRef,
}

/// The kind of lock of a [`ReadGuard`].
#[derive(Debug)]
pub enum Reading {}

/// The kind of lock of a [`WriteGuard`].
#[derive(Debug)]
pub enum Writing {}

/// A [`RwLock`] that is held for reading.
pub type ReadGuard = Guard<Reading>;
/// A [`RwLock`] that is held for writing.
pub type WriteGuard = Guard<Writing>;

impl Client {
    /// Returns the read-write lock at `path`, an absolute path below the client's namespace.
    ///
    /// No request is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn rwlock(&self, path: impl AsRef<str>) -> Result<RwLock, LockError> {
        let path = self.path(path)?;
        let [read, write] = [Access::Read, Access::Write].map(|access| LockRef::of(path.clone(), access));
        Ok(RwLock { client: self.clone(), read, write })
    }
}

impl RwLock {
    /// Returns the lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.read.path.relative()
    }

    /// Also waits for contenders of other client libraries, recognized by the part of their node names in
    /// front of the sequence number.
    ///
    /// See [`Mutex::also_behind`](crate::Mutex::also_behind). Only writers wait for contenders whose name in
    /// this list ends in `__rlock__`, which are kazoo's readers.
    #[must_use]
    pub fn also_behind(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<_> = names.into_iter().map(Into::into).collect();
        self.read.wait_behind(&names);
        self.write.wait_behind(&names);
        self
    }

    /// Names this lock in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        self.read.label = name.clone();
        self.write.label = name;
        self
    }

    /// Acquires the lock for reading, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`read_timeout`](Self::read_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn read(&self) -> Result<ReadGuard, LockError> {
        self.read_timeout(self.client.default_wait()).await
    }

    /// Acquires the lock for reading, waiting for at most `wait` in total, including the time to connect.
    ///
    /// [`Duration::MAX`] waits forever.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn read_timeout(&self, wait: Duration) -> Result<ReadGuard, LockError> {
        guard::enter(&self.read, &self.client, wait).await
    }

    /// Acquires the lock for reading if no other contender writes or waits to write, and returns `Ok(None)`
    /// otherwise.
    ///
    /// Its requests are bounded by the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`read_timeout`](Self::read_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background, if no other call needs it.
    pub async fn try_read(&self) -> Result<Option<ReadGuard>, LockError> {
        guard::try_enter(&self.read, &self.client).await
    }

    /// Acquires the lock for writing, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`write_timeout`](Self::write_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn write(&self) -> Result<WriteGuard, LockError> {
        self.write_timeout(self.client.default_wait()).await
    }

    /// Acquires the lock for writing, waiting for at most `wait` in total, including the time to connect.
    ///
    /// [`Duration::MAX`] waits forever.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout), and [`LockError::Upgrade`] if the
    /// logical call reads under this lock.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn write_timeout(&self, wait: Duration) -> Result<WriteGuard, LockError> {
        guard::enter(&self.write, &self.client, wait).await
    }

    /// Acquires the lock for writing if no other contender holds it or waits for it, and returns `Ok(None)`
    /// otherwise.
    ///
    /// Its requests are bounded by the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`write_timeout`](Self::write_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background, if no other call needs it.
    pub async fn try_write(&self) -> Result<Option<WriteGuard>, LockError> {
        guard::try_enter(&self.write, &self.client).await
    }

    /// Acquires the lock for reading within `wait`, or at once. For generated code.
    #[doc(hidden)]
    pub async fn take_read(&self, wait: Option<Duration>) -> Result<ReadGuard, LockError> {
        guard::take(&self.read, &self.client, wait).await
    }

    /// Acquires the lock for writing within `wait`, or at once. For generated code.
    #[doc(hidden)]
    pub async fn take_write(&self, wait: Option<Duration>) -> Result<WriteGuard, LockError> {
        guard::take(&self.write, &self.client, wait).await
    }

    /// Acquires the lock for reading, runs `body` under it, and releases it.
    ///
    /// If the lock is lost, the body is dropped at its next await. The release ends in the background,
    /// unless the client is configured otherwise; see [`Release`](crate::Release). A failed release is told to the
    /// listeners and does not replace the body's result.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and [`LockError::Lost`] if the lock is lost during the body.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body at its current await, and then releases the lock in the background.
    pub async fn run_read<T>(&self, body: impl AsyncFnOnce(&ReadGuard) -> T) -> Result<T, LockError> {
        guard::run(self.read(), body).await
    }

    /// Acquires the lock for writing, runs `body` under it, and releases it.
    ///
    /// If the lock is lost, the body is dropped at its next await. The release ends in the background,
    /// unless the client is configured otherwise; see [`Release`](crate::Release). A failed release is told to the
    /// listeners and does not replace the body's result.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write), and [`LockError::Lost`] if the lock is lost during the body.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body at its current await, and then releases the lock in the background.
    pub async fn run_write<T>(&self, body: impl AsyncFnOnce(&WriteGuard) -> T) -> Result<T, LockError> {
        guard::run(self.write(), body).await
    }

    /// Lists the holders of the lock and its waiters, readers and writers, in the order of the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::participants`](crate::Mutex::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list_with_line(&self.client, &self.write).await
    }
}

impl WriteGuard {
    /// Downgrades to a read guard, without letting another writer acquire the lock in between.
    ///
    /// Other readers may then share the lock. One transaction replaces the writer's node by a reader's node
    /// with the same sequence number, as Curator does since 5.5 (CURATOR-621). The fencing token stays the
    /// same. Inside another write guard of the same logical call, the lock stays exclusive until that guard
    /// is released.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock was lost.
    /// * [`LockError::Timeout`] if a writer inside this guard does not end within the client's default wait,
    ///   or the server does not answer within it.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client replace its
    ///   node.
    ///
    /// After an error the lock is released in the background.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future releases the lock in the background.
    pub async fn downgrade(mut self) -> Result<ReadGuard, LockError> {
        self.check()?;
        let deadline = Deadline::new(self.client().default_wait(), Contention::Wait);
        for hold in self.holds_mut() {
            hold::downgraded(hold, deadline).await?;
        }
        Ok(self.into_kind())
    }
}
