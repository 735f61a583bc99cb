//! The multi-lock: several locks acquired as one, all or none.

use std::borrow::Cow;
use std::time::Duration;

use crate::client::Client;
use crate::deadline::{Contention, Deadline};
use crate::error::LockError;
use crate::guard::{self, Guard};
use crate::hold::{self, Access, Hold, LockRef, UNNAMED};
use crate::token::FencingToken;

/// Several locks acquired as one: all are held, or none.
///
/// They are acquired one after the other, in the order of their full paths on the servers, regardless of the order in which
/// they are given. Multi-locks with common members therefore do not deadlock with each other. While a multi-lock waits for a
/// member, it holds those in front of it.
///
/// Two cases are not covered. Curator's `InterProcessMultiLock` acquires its members in the order given; give
/// it the order of [`paths`](Self::paths). A call that already holds one lock, and then acquires another one
/// that comes before it in that order, can deadlock until its deadline.
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
    /// The members in the order of their full paths; at least one.
    locks: Vec<LockRef>,
}

/// A held [`MultiLock`].
pub type MultiGuard = Guard<MultiLock>;

impl Client {
    /// Returns a lock that acquires several locks as one: all are held, or none.
    ///
    /// A member that is only a path is the mutex at that path. No request is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex), and [`LockError::InvalidGroup`] if `members` is empty or names a path
    /// twice.
    pub fn multi(
        &self,
        members: impl IntoIterator<Item = impl Into<Member>>,
    ) -> Result<MultiLock, LockError> {
        let locks = members.into_iter().map(|member| member.into().lock(self));
        let mut locks = locks.collect::<Result<Vec<_>, _>>()?;
        locks.sort_by(|a, b| a.path.full().cmp(b.path.full()));
        let twice = locks.windows(2).find(|pair| pair[0].path == pair[1].path);
        let reason = match twice {
            _ if locks.is_empty() => "the list of members is empty".to_owned(),
            Some(pair) => format!("{} is named twice", pair[0].path),
            None => return Ok(MultiLock { client: self.clone(), locks }),
        };
        Err(LockError::InvalidGroup { reason })
    }

    /// Acquires several locks, all or none, waiting for at most the client's default wait in total.
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
    /// Returns the paths of the members, in the order in which they are acquired.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.locks.iter().map(|lock| lock.path.relative())
    }

    /// Acquires all of the locks, waiting for at most the client's default wait in total.
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

    /// Acquires all of the locks, waiting for at most `wait` in total, including the time to connect.
    ///
    /// [`Duration::MAX`] waits forever. If a member fails, no further one is tried. The members acquired before are
    /// released, and this waits for their release within the rest of `wait`, and at most for the client's default wait.
    /// If a member is lost while others are waited for, the call gives all of them back and begins again.
    ///
    /// # Errors
    ///
    /// The error of the first member that fails; see [`Mutex::lock_timeout`](crate::Mutex::lock_timeout) and
    /// [`RwLock::write_timeout`](crate::RwLock::write_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MultiGuard, LockError> {
        let first = self.locks.first().map_or("", |lock| lock.path.relative());
        let deadline = Deadline::within(wait, first)?;
        // Not expected: only an attempt that does not wait for others is contended.
        self.enter(deadline).await?.map_err(|lock| lock.timeout(wait, None))
    }

    /// Acquires all of the locks if no other contender is in the way, and returns `Ok(None)` otherwise.
    ///
    /// Its requests are bounded by the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`lock_timeout`](Self::lock_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn try_lock(&self) -> Result<Option<MultiGuard>, LockError> {
        Ok(self.enter(Deadline::new(self.client.default_wait(), Contention::Leave)).await?.ok())
    }

    /// Acquires all of the locks within `wait`, or at once. The error of a contended call names the member that is. For
    /// generated code.
    #[doc(hidden)]
    pub async fn take(&self, wait: Option<Duration>) -> Result<MultiGuard, LockError> {
        if let Some(wait) = wait {
            return self.lock_timeout(wait).await;
        }
        let entered = self.enter(Deadline::new(self.client.default_wait(), Contention::Leave)).await?;
        entered.map_err(|lock| lock.contended(&self.client))
    }

    /// Acquires all of the locks, runs `body` under them, and releases them.
    ///
    /// If one of them is lost, the body is dropped at its next await. The release ends in the background,
    /// unless the client is configured otherwise; see [`Release`](crate::Release). A failed release is told to the
    /// listeners and does not replace the body's result.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock), and [`LockError::Lost`] if a lock is lost during the body.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the body at its current await, and then releases the locks in the
    /// background.
    pub async fn run<T>(&self, body: impl AsyncFnOnce(&MultiGuard) -> T) -> Result<T, LockError> {
        guard::run(self.lock(), body).await
    }

    /// Enters all members, and starts over with the first one if one is lost while others are waited for. Returns the
    /// contended member if the attempt does not wait for it.
    async fn enter(&self, deadline: Deadline) -> Result<Result<MultiGuard, &LockRef>, LockError> {
        let group = self.client.worker().events().map(|events| events.new_id());
        loop {
            let guard = match self.enter_each(deadline, group).await? {
                Ok(holds) => MultiGuard::new(holds),
                Err(contended) => return Ok(Err(contended)),
            };
            let Err(lost) = guard.check() else { return Ok(Ok(guard)) };
            // A member kept from this round would not prove that all were held at one time.
            self.give_back(guard.into_holds(), deadline).await;
            if deadline.left().is_zero() {
                return Err(lost);
            }
        }
    }

    /// Enters one member after the other. If one of them cannot be had, gives those in front of it back.
    async fn enter_each(
        &self,
        deadline: Deadline,
        group: Option<u64>,
    ) -> Result<Result<Vec<Hold>, &LockRef>, LockError> {
        let mut held = Vec::new();
        for lock in &self.locks {
            match hold::enter(&self.client, lock, deadline, group).await {
                Ok(Some(holds)) => held.extend(holds),
                failed => {
                    self.give_back(held, deadline).await;
                    return failed.map(|_| Err(lock));
                }
            }
        }
        Ok(Ok(held))
    }

    /// Gives members back, and waits until they are released, but not longer than the call may take.
    async fn give_back(&self, holds: Vec<Hold>, deadline: Deadline) {
        hold::give_up(holds, deadline.left().min(self.client.default_wait())).await;
    }
}

impl MultiGuard {
    /// Returns the number by which the resource behind the lock at `path` can tell this holder from earlier
    /// ones.
    ///
    /// The result is `None` if that lock is not a member. Tokens of different locks say nothing about each other.
    pub fn fencing_token(&self, path: &str) -> Option<FencingToken> {
        let mut holds = self.holds().iter();
        holds.find(|hold| hold.lease().path().relative() == path).map(|hold| hold.token())
    }
}

/// A lock that is part of a [`MultiLock`].
///
/// A bare path converts into the mutex at that path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    path: String,
    access: Access,
    /// The name of this member in events and metrics.
    label: Cow<'static, str>,
}

impl Member {
    /// Creates the member for the mutex at `path`, the lock of [`Client::mutex`].
    pub fn mutex(path: impl Into<String>) -> Self {
        Self { path: path.into(), access: Access::Mutex, label: UNNAMED }
    }

    /// Creates the member for the mutex at `path` that is not reentrant, the lock of [`Client::exclusive`].
    pub fn exclusive(path: impl Into<String>) -> Self {
        Self { path: path.into(), access: Access::NonReentrantMutex, label: UNNAMED }
    }

    /// Creates the member that reads under the [`RwLock`](crate::RwLock) at `path`.
    pub fn read(path: impl Into<String>) -> Self {
        Self { path: path.into(), access: Access::Read, label: UNNAMED }
    }

    /// Creates the member that writes under the [`RwLock`](crate::RwLock) at `path`.
    pub fn write(path: impl Into<String>) -> Self {
        Self { path: path.into(), access: Access::Write, label: UNNAMED }
    }

    /// Returns the path of the lock below the client's namespace.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Names this member in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { label: name.into(), ..self }
    }

    fn lock(self, client: &Client) -> Result<LockRef, LockError> {
        Ok(LockRef { label: self.label, ..LockRef::of(client.path(&self.path)?, self.access) })
    }
}

impl<P: Into<String>> From<P> for Member {
    fn from(path: P) -> Self {
        Self::mutex(path)
    }
}
