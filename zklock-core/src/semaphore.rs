//! The lock that a number of holders share.

use std::sync::Arc;
use std::time::Duration;

use crate::acquire::{self, Count};
use crate::client::Client;
use crate::error::LockError;
use crate::guard::{Guard, OnePath};
use crate::hold::{Door, Entry};
use crate::participant::{self, Participant};
use crate::path::NodePath;
use crate::session::{Session, counter};

/// How many permits a semaphore has.
///
/// A number, such as `3`, is given by all participants, who must agree; see [`Client::semaphore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits(Source);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Given(u32),
    Shared { path: String, seed: u32 },
}

impl Permits {
    /// The number in the node at `path`, below the client's namespace, which can change at any time.
    ///
    /// The node is that of Curator's `SharedCount`, and is created with `seed` where it is missing. A greater
    /// number lets those who wait in; after a smaller one, those who have permits keep them.
    pub fn shared(path: impl Into<String>, seed: u32) -> Self {
        Self(Source::Shared { path: path.into(), seed })
    }
}

impl From<u32> for Permits {
    fn from(permits: u32) -> Self {
        Self(Source::Given(permits))
    }
}

/// A number of permits at one path, for all processes that use the ensemble.
///
/// Those who wait are served in the order in which they came, whatever number of permits they want. It is not
/// reentrant: each call takes permits of its own. On the wire it is Curator's `InterProcessSemaphoreV2`.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let connections = client.semaphore("/legacy/connections", 3)?;
/// let two = connections.acquire_many(2).await?;
/// // … at most three connections in the fleet …
/// two.release().await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore {
    client: Client,
    path: NodePath,
    count: Count,
}

/// Held permits of a [`Semaphore`].
pub type SemaphoreGuard = Guard<Semaphore>;

impl OnePath for Semaphore {}

impl Client {
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
}

impl Semaphore {
    fn new(client: Client, path: NodePath, permits: Permits) -> Result<Self, LockError> {
        let count = match permits.0 {
            Source::Given(0) => {
                return Err(invalid(&path, 0, "a semaphore has one permit at least"));
            }
            Source::Given(permits) => Count::Agreed(permits),
            Source::Shared { seed, .. } if i32::try_from(seed).is_err() => {
                return Err(invalid(&path, seed, TOO_MANY));
            }
            Source::Shared { path, seed } => {
                Count::Shared { path: NodePath::new(client.worker().root(), &path)?, seed }
            }
        };
        Ok(Self { client, path, count })
    }

    /// The semaphore's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.path.relative()
    }

    /// Takes one permit, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn acquire(&self) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many(1).await
    }

    /// Takes one permit, waiting for at most `wait` in all, connection included.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many_timeout(1, wait).await
    }

    /// Takes so many permits, all or none, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn acquire_many(&self, permits: u32) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many_timeout(permits, self.client.default_wait()).await
    }

    /// Takes so many permits, all or none, waiting for at most `wait` in all, connection included.
    ///
    /// [`Duration::MAX`] waits for ever. Where the number of permits is shared, more than there are now are
    /// waited for.
    ///
    /// # Errors
    ///
    /// * [`LockError::InvalidPermits`] for no permits, and for more than there can be.
    /// * [`LockError::PermitsDiffer`] if others who have permits go by another number.
    /// * Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background; the place in the queue is lost.
    pub async fn acquire_many_timeout(
        &self,
        permits: u32,
        wait: Duration,
    ) -> Result<SemaphoreGuard, LockError> {
        let holds = self.door(permits)?.enter(&self.client, wait).await?;
        Ok(SemaphoreGuard::new(&self.client, holds))
    }

    /// Takes one permit if there is one and nobody waits for it; `Ok(None)` otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background.
    pub async fn try_acquire(&self) -> Result<Option<SemaphoreGuard>, LockError> {
        self.try_acquire_many(1).await
    }

    /// Takes so many permits if there are so many and nobody waits for them; `Ok(None)` otherwise.
    ///
    /// The requests that find out are bounded by the client's default wait. Where others take permits at this
    /// moment, it waits up to a second for what they leave.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout); contention is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background.
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<SemaphoreGuard>, LockError> {
        let holds = self.door(permits)?.try_enter(&self.client).await?;
        Ok(holds.map(|holds| SemaphoreGuard::new(&self.client, holds)))
    }

    /// Changes the number of permits of a semaphore whose number is shared.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidPermits`] where the number is not shared, or greater than 2147483647, which is
    /// Java's greatest; otherwise those of a request.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_permits(&self, permits: u32) -> Result<(), LockError> {
        let Count::Shared { path, .. } = &self.count else {
            return Err(invalid(&self.path, permits, "the number is not shared, each participant gives it"));
        };
        if i32::try_from(permits).is_err() {
            return Err(invalid(&self.path, permits, TOO_MANY));
        }
        let counter = path.clone();
        let set =
            move |session: Arc<Session>| async move { counter::set(session.ops(), &counter, permits).await };
        self.client.worker().ask(path, set).await
    }

    /// Lists who has permits and who waits for some, in order; one for each permit, and one for each who waits.
    ///
    /// # Errors
    ///
    /// [`LockError::Refused`] for a shared number that is none, [`LockError::Denied`], [`LockError::Timeout`] after the client's default wait, or
    /// [`LockError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list(self.client.worker(), &self.door(1)?).await
    }

    fn door(&self, wanted: u32) -> Result<Door, LockError> {
        match self.count {
            _ if wanted == 0 => return Err(invalid(&self.path, wanted, "nothing is asked for")),
            Count::Agreed(of) if wanted > of => {
                return Err(invalid(&self.path, wanted, &format!("there are {of}")));
            }
            _ => {}
        }
        let permits = acquire::Permits { wanted, count: self.count.clone() };
        Ok(Door::to_permits(self.path.clone(), Entry::Permits, permits))
    }
}

fn invalid(path: &NodePath, wanted: u32, reason: &str) -> LockError {
    LockError::InvalidPermits { path: path.relative().to_owned(), wanted, reason: reason.to_owned() }
}

/// Why a shared number is refused, which Java reads as a signed one.
const TOO_MANY: &str = "a shared number is a signed one of 32 bits";
