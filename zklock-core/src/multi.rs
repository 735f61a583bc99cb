//! Several locks at once, all or none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::guard::Guard;
use crate::hold::{self, Door, Hold};
use crate::session::drive::Contention;
use crate::token::FencingToken;

/// A lock that is part of a [`MultiLock`].
///
/// A path alone is the mutex there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    path: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mutex,
    Exclusive,
    Read,
    Write,
}

impl Member {
    /// The mutex at `path`, that of [`Client::mutex`].
    pub fn mutex(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Mutex }
    }

    /// The mutex at `path` that is not reentrant, that of [`Client::exclusive`].
    pub fn exclusive(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Exclusive }
    }

    /// The [`RwLock`](crate::RwLock) at `path`, for reading.
    pub fn read(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Read }
    }

    /// The [`RwLock`](crate::RwLock) at `path`, for writing.
    pub fn write(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: Kind::Write }
    }

    fn door(&self, client: &Client) -> Result<Door, LockError> {
        Ok(match self.kind {
            Kind::Mutex => client.mutex(&self.path)?.into_door(),
            Kind::Exclusive => client.exclusive(&self.path)?.into_door(),
            Kind::Read => client.rwlock(&self.path)?.into_doors().0,
            Kind::Write => client.rwlock(&self.path)?.into_doors().1,
        })
    }
}

impl<P: Into<String>> From<P> for Member {
    fn from(path: P) -> Self {
        Self::mutex(path)
    }
}

/// Several locks at once: all are held, or none.
///
/// Its members are entered one by one, in the order of their paths on the servers, in whatever order they are
/// named: two that have members in common never wait for each other's. That holds among multi-locks of zklock;
/// Curator's enters them as they are named, which should be the order of [`paths`](Self::paths) then. And a call
/// that holds one of the locks already, and enters another in front of it in that order, can wait in a circle
/// until its deadline.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let both = client.multi(["/accounts/7", "/accounts/9"])?.lock().await?;
/// both.release().await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MultiLock {
    client: Client,
    /// In the order of their paths; at least one.
    doors: Vec<Door>,
}

/// A held [`MultiLock`].
pub type MultiGuard = Guard<MultiLock>;

impl Client {
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
}

impl MultiLock {
    fn new(client: Client, members: impl IntoIterator<Item = impl Into<Member>>) -> Result<Self, LockError> {
        let doors = members.into_iter().map(|member| member.into().door(&client));
        let mut doors = doors.collect::<Result<Vec<_>, _>>()?;
        doors.sort_by(|a, b| a.path.full().cmp(b.path.full()));
        let twice = doors.windows(2).find(|pair| pair[0].path == pair[1].path);
        let reason = match twice {
            _ if doors.is_empty() => "there is none".to_owned(),
            Some(pair) => format!("{} is named twice", pair[0].path),
            None => return Ok(Self { client, doors }),
        };
        Err(LockError::InvalidGroup { reason })
    }

    /// The paths of its members, in the order in which they are entered.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.doors.iter().map(|door| door.path.relative())
    }

    /// Takes all of the locks, waiting for at most the client's default wait in all.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn lock(&self) -> Result<MultiGuard, LockError> {
        self.lock_timeout(self.client.default_wait()).await
    }

    /// Takes all of the locks, waiting for at most `wait` in all, connection included.
    ///
    /// [`Duration::MAX`] waits for ever.
    ///
    /// # Errors
    ///
    /// Those of the member that failed; no other is tried, and those that were taken are released, which this
    /// waits for within `wait`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MultiGuard, LockError> {
        let first = self.doors.first().map_or("", |door| door.path.relative());
        let patience = Patience::within(wait, first)?;
        match self.enter(patience).await? {
            Some(guard) => Ok(guard),
            // Only a contender that does not wait leaves in this way.
            None => Err(LockError::Timeout { path: first.to_owned(), waited: wait, phase: Phase::Queued }),
        }
    }

    /// Takes all of the locks if nobody is in the way; `Ok(None)` if somebody is.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn try_lock(&self) -> Result<Option<MultiGuard>, LockError> {
        self.enter(Patience::new(self.client.default_wait(), Contention::Leave)).await
    }

    /// Takes all of the locks, runs `body` under them, and releases them.
    ///
    /// If one of them is lost, the body is dropped at its next await; a failed release does not replace its
    /// result.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body where it is, and then releases the locks in the background.
    pub async fn run<T>(&self, body: impl AsyncFnOnce(&MultiGuard) -> T) -> Result<T, LockError> {
        let guard = self.lock().await?;
        let value = guard.run(body(&guard)).await?;
        guard.finish().await;
        Ok(value)
    }

    /// Enters all members, again from the first one if one is lost while others are waited for.
    async fn enter(&self, patience: Patience) -> Result<Option<MultiGuard>, LockError> {
        let started = Instant::now();
        loop {
            let mut held = Vec::new();
            for door in &self.doors {
                match hold::enter(&self.client, door, patience.spent(started.elapsed())).await {
                    Ok(Some(holds)) => held.extend(holds),
                    left => {
                        // Within the same bound; what is not released by then is released in the background.
                        let within = patience.spent(started.elapsed()).left().min(self.client.default_wait());
                        self.client.worker().call(within, give_back(held)).await.ok();
                        return left.map(|_| None);
                    }
                }
            }
            let guard = MultiGuard::new(&self.client, held);
            match guard.check() {
                Ok(()) => return Ok(Some(guard)),
                Err(lost) if patience.spent(started.elapsed()).left().is_zero() => return Err(lost),
                // The others would keep a place that says nothing about when all were held.
                Err(_) => guard.finish().await,
            }
        }
    }
}

/// Releases the members that were taken before one failed, whose error is the one to tell.
async fn give_back(held: Vec<Hold>) {
    if let Err(error) = hold::release_all(held.into_iter().map(Arc::new).collect()).await {
        tracing::warn!(%error, "release failed");
    }
}

impl MultiGuard {
    /// The paths of the locks, in the order in which they were entered.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.holds().iter().map(|hold| hold.tenure().path().relative())
    }

    /// The number by which the resource behind the lock at `path` tells this holder from older ones; `None`
    /// where that lock is not among these.
    ///
    /// Tokens of different locks must not be compared.
    pub fn fencing_token(&self, path: &str) -> Option<FencingToken> {
        let mut held = self.holds().iter().map(|hold| hold.tenure());
        held.find(|tenure| tenure.path().relative() == path).map(|tenure| tenure.token())
    }
}
