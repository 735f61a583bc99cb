//! The lock that readers share.

use std::time::Duration;

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::LockError;
use crate::guard::{Guard, OnePath};
use crate::hold::{Door, Entry};
use crate::participant::{self, Participant};
use crate::path::NodePath;
use crate::queue::claim::Role;
use crate::session::drive::Contention;

/// A lock at one path that many may hold for reading, or one for writing.
///
/// Both sides wait in one queue in the order in which they entered it: a reader behind a writer that waits
/// waits too, so that no writer starves. On the wire it is Curator's `InterProcessReadWriteLock`.
///
/// Within one logical call (see [`run_read`](Self::run_read), [`run_write`](Self::run_write) and
/// [`ReadGuard::scope`]), each side is reentrant, and a writer may read. A reader may not write: it would wait
/// for itself, and is told so by [`LockError::Upgrade`] at once.
///
/// A writer that reads and stops writing, by [`WriteGuard::downgrade`] or because its write guard goes before
/// the read guard inside of it, goes on holding the lock for reading, and no other writer gets in between.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let catalogue = client.rwlock("/catalogue")?;
/// let writer = catalogue.write().await?;
/// // … change it, then let others read what we go on reading …
/// let reader = writer.downgrade().await?;
/// reader.release().await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RwLock {
    client: Client,
    read: Door,
    write: Door,
}

/// Marks a [`ReadGuard`].
#[derive(Debug)]
pub enum Reading {}

/// Marks a [`WriteGuard`].
#[derive(Debug)]
pub enum Writing {}

/// A [`RwLock`] that is held for reading.
pub type ReadGuard = Guard<Reading>;
/// A [`RwLock`] that is held for writing.
pub type WriteGuard = Guard<Writing>;

impl OnePath for Reading {}
impl OnePath for Writing {}

impl Client {
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
}

impl RwLock {
    fn new(client: Client, path: NodePath) -> Self {
        let read = Door::to_queue(path.clone(), Entry::Read, Role::Read);
        Self { client, read, write: Door::to_queue(path, Entry::Write, Role::Write) }
    }

    pub(crate) fn into_doors(self) -> (Door, Door) {
        (self.read, self.write)
    }

    /// The lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.read.path.relative()
    }

    /// Also waits for contenders of other clients, known by what their names have in front of the sequence.
    ///
    /// See [`Mutex::also_behind`](crate::Mutex::also_behind). Names that end in `__rlock__`, kazoo's readers,
    /// are in the way of writers only.
    #[must_use]
    pub fn also_behind(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<_> = names.into_iter().map(Into::into).collect();
        let (read, write) = (self.read.also_behind(&names), self.write.also_behind(&names));
        Self { client: self.client, read, write }
    }

    /// Takes the lock for reading, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`read_timeout`](Self::read_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn read(&self) -> Result<ReadGuard, LockError> {
        self.read_timeout(self.client.default_wait()).await
    }

    /// Takes the lock for reading, waiting for at most `wait` in all, connection included.
    ///
    /// [`Duration::MAX`] waits for ever.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn read_timeout(&self, wait: Duration) -> Result<ReadGuard, LockError> {
        Ok(ReadGuard::new(&self.client, self.read.enter(&self.client, wait).await?))
    }

    /// Takes the lock for reading if nobody writes or waits to; `Ok(None)` if somebody does.
    ///
    /// The requests that find out are bounded by the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`read_timeout`](Self::read_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background.
    pub async fn try_read(&self) -> Result<Option<ReadGuard>, LockError> {
        let holds = self.read.try_enter(&self.client).await?;
        Ok(holds.map(|holds| ReadGuard::new(&self.client, holds)))
    }

    /// Takes the lock for writing, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`write_timeout`](Self::write_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn write(&self) -> Result<WriteGuard, LockError> {
        self.write_timeout(self.client.default_wait()).await
    }

    /// Takes the lock for writing, waiting for at most `wait` in all, connection included.
    ///
    /// [`Duration::MAX`] waits for ever.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout), and [`LockError::Upgrade`] if the current
    /// call reads under this lock.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn write_timeout(&self, wait: Duration) -> Result<WriteGuard, LockError> {
        Ok(WriteGuard::new(&self.client, self.write.enter(&self.client, wait).await?))
    }

    /// Takes the lock for writing if nobody has it or waits for it; `Ok(None)` if somebody does.
    ///
    /// The requests that find out are bounded by the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`write_timeout`](Self::write_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background.
    pub async fn try_write(&self) -> Result<Option<WriteGuard>, LockError> {
        let holds = self.write.try_enter(&self.client).await?;
        Ok(holds.map(|holds| WriteGuard::new(&self.client, holds)))
    }

    /// Takes the lock for reading, runs `body` under it, and releases it.
    ///
    /// If the lock is lost, the body is dropped at its next await; a failed release does not replace its
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body where it is, and then releases the lock in the background.
    pub async fn run_read<T>(&self, body: impl AsyncFnOnce(&ReadGuard) -> T) -> Result<T, LockError> {
        let guard = self.read().await?;
        let value = guard.run(body(&guard)).await?;
        guard.finish().await;
        Ok(value)
    }

    /// Takes the lock for writing, runs `body` under it, and releases it.
    ///
    /// If the lock is lost, the body is dropped at its next await; a failed release does not replace its
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body where it is, and then releases the lock in the background.
    pub async fn run_write<T>(&self, body: impl AsyncFnOnce(&WriteGuard) -> T) -> Result<T, LockError> {
        let guard = self.write().await?;
        let value = guard.run(body(&guard)).await?;
        guard.finish().await;
        Ok(value)
    }

    /// Lists who holds the lock and who waits for it, in the order of the queue, both sides.
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
        participant::list(self.client.worker(), &self.write).await
    }
}

impl WriteGuard {
    /// Goes on holding the lock for reading, and lets other readers in; no writer gets in between.
    ///
    /// One transaction puts a reader's node in the place of the writer's, with its sequence, as Curator does
    /// since 5.5 (CURATOR-621). Inside of another write guard of the same call the lock stays a writer's until
    /// that one is released. The fencing token stays the same.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock was lost.
    /// * [`LockError::Timeout`] if writers inside of this guard do not end within the client's default wait, or the
    ///   server does not answer within it.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client replace its node.
    ///
    /// After an error the lock is released in the background.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future releases the lock in the background.
    pub async fn downgrade(self) -> Result<ReadGuard, LockError> {
        self.check()?;
        let patience = Patience::new(self.client().default_wait(), Contention::Wait);
        let mut readers = Vec::new();
        for writer in self.holds() {
            readers.push(writer.enter_to_read(patience).await?);
        }
        let reader = ReadGuard::new(self.client(), readers);
        self.release().await?;
        Ok(reader)
    }
}
