//! The multi-lock: several locks acquired as one, all or none.
//!
//! Uses the floors below: `mutex`, `rwlock`, `guard`, `hold`, `acquire`, `client`, `session`, `events`, `token` and
//! `error`.

mod member;
#[cfg(test)]
mod sim;

use std::time::{Duration, Instant};

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::guard::Guard;
use crate::hold::{self, Door, Holds};
use crate::session::drive::Contention;
use crate::token::FencingToken;

pub use self::member::Member;

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
    /// The members' doors in the order of their full paths; at least one.
    doors: Vec<Door>,
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
        MultiLock::new(self.clone(), members)
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
    fn new(client: Client, members: impl IntoIterator<Item = impl Into<Member>>) -> Result<Self, LockError> {
        let doors = members.into_iter().map(|member| member.into().door(&client));
        let mut doors = doors.collect::<Result<Vec<_>, _>>()?;
        doors.sort_by(|a, b| a.path.full().cmp(b.path.full()));
        let twice = doors.windows(2).find(|pair| pair[0].path == pair[1].path);
        let reason = match twice {
            _ if doors.is_empty() => "the list of members is empty".to_owned(),
            Some(pair) => format!("{} is named twice", pair[0].path),
            None => return Ok(Self { client, doors }),
        };
        Err(LockError::InvalidGroup { reason })
    }

    /// Returns the paths of the members, in the order in which they are acquired.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.doors.iter().map(|door| door.path.relative())
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
    /// [`Duration::MAX`] waits forever.
    ///
    /// # Errors
    ///
    /// The error of the first member that fails; see [`Mutex::lock_timeout`](crate::Mutex::lock_timeout) and
    /// [`RwLock::write_timeout`](crate::RwLock::write_timeout). No further member is tried. The members
    /// acquired before are released, and this waits for their release within the rest of `wait`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws from all of them in the background.
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MultiGuard, LockError> {
        let first = self.doors.first().map_or("", |door| door.path.relative());
        let patience = Patience::within(wait, first)?;
        match self.enter(patience).await? {
            Ok(guard) => Ok(guard),
            // Only an attempt that does not wait for others is contended.
            Err(door) => Err(LockError::Timeout {
                path: door.path.relative().to_owned(),
                waited: wait,
                phase: Phase::Queued,
                holder: None,
            }),
        }
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
        Ok(self.enter(Patience::new(self.client.default_wait(), Contention::Leave)).await?.ok())
    }

    /// Acquires all of the locks if no other contender is in the way. The error of a contended call names the member
    /// that is. For generated code.
    #[doc(hidden)]
    pub async fn lock_now(&self) -> Result<MultiGuard, LockError> {
        let entered = self.enter(Patience::new(self.client.default_wait(), Contention::Leave)).await?;
        entered.map_err(|door| door.contended(&self.client))
    }

    /// Acquires all of the locks, runs `body` under them, and releases them.
    ///
    /// If one of them is lost, the body is dropped at its next await. The release ends in the background; see
    /// [`Release`](crate::Release). A failed release is told to the listeners and does not
    /// replace the body's result.
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
        let guard = self.lock().await?;
        let value = guard.run_at_once(body(&guard)).await?;
        guard.finish().await;
        Ok(value)
    }

    /// Enters all members, and starts over with the first one if one is lost while others are waited for. Returns the
    /// contended member if the attempt does not wait for it.
    async fn enter(&self, patience: Patience) -> Result<Result<MultiGuard, &Door>, LockError> {
        let started = Instant::now();
        let left = || patience.spent(started.elapsed());
        let group = self.client.worker().events().map(|events| events.new_id());
        loop {
            let guard = match self.enter_each(left, group).await? {
                Ok(holds) => MultiGuard::new(holds),
                Err(contended) => return Ok(Err(contended)),
            };
            let Err(lost) = guard.check() else { return Ok(Ok(guard)) };
            // A member kept from this round would not prove that all were held at one time.
            self.give_back(guard.into_holds(), left()).await;
            if left().left().is_zero() {
                return Err(lost);
            }
        }
    }

    /// Enters one member after the other. If one of them cannot be had, gives those in front of it back.
    async fn enter_each(
        &self,
        left: impl Fn() -> Patience,
        group: Option<u64>,
    ) -> Result<Result<Holds, &Door>, LockError> {
        let mut held = Vec::new();
        for door in &self.doors {
            match hold::enter(&self.client, door, left(), group).await {
                Ok(Some(holds)) => held.extend(holds.into_vec()),
                failed => {
                    self.give_back(held.into_iter().collect(), left()).await;
                    return failed.map(|_| Err(door));
                }
            }
        }
        Ok(Ok(held.into_iter().collect()))
    }

    /// Gives members back, and waits until they are released, but not longer than the call may take.
    async fn give_back(&self, holds: Holds, patience: Patience) {
        let within = patience.left().min(self.client.default_wait());
        hold::release_within(self.client.worker(), holds, within).await;
    }
}

impl MultiGuard {
    /// Returns the paths of the locks, in the order in which they were acquired.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.holds().iter().map(|hold| hold.tenure().path().relative())
    }

    /// Returns the number by which the resource behind the lock at `path` can tell this holder from earlier
    /// ones.
    ///
    /// The result is `None` if that lock is not a member. Tokens of different locks must not be compared.
    pub fn fencing_token(&self, path: &str) -> Option<FencingToken> {
        let mut holds = self.holds().iter();
        holds.find(|hold| hold.tenure().path().relative() == path).map(|hold| hold.token())
    }
}
