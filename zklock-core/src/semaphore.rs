//! The semaphore: a lock with a fixed or shared number of permits.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::contend::{self, Count, Wanted};
use crate::error::LockError;
use crate::guard::{self, Guard};
use crate::hold::{Access, LockRef, UNNAMED};
use crate::participant::{self, Participant};
use crate::path::NodePath;
use crate::session::{Session, counter};

/// A number of permits at one path, shared by all processes that use the ensemble.
///
/// Waiters are served in the order in which they entered the queue, regardless of the number of permits that they
/// want. The calls of one client for the same number of permits share a place in it, and are served in the order in
/// which they came. A client passes its permits on to its own calls until it has made 64 grants or 50 ms are over,
/// unless it is configured otherwise; see [`Queueing`](crate::Queueing).
///
/// A semaphore is not reentrant: each call acquires its own permits. On the wire it is Curator's
/// `InterProcessSemaphoreV2`.
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
    label: Cow<'static, str>,
}

/// Held permits of a [`Semaphore`].
pub type SemaphoreGuard = Guard<Semaphore>;

impl Client {
    /// Returns the semaphore at `path`, which has `permits` permits in the whole fleet.
    ///
    /// No request is sent. All participants must give the same number, or must all share the number in one
    /// node by [`Permits::shared`].
    ///
    /// The data of the semaphore's node states the number, or the path of the node that has it. Each
    /// acquisition compares that data with `permits`, and fails if they differ while another holder has
    /// permits. If no other holder has any, or the data is empty, the client writes its own statement. Data
    /// of another kind is left alone. If the ACLs deny the read or the write, acquiring permits fails with
    /// [`LockError::Denied`].
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex). [`LockError::InvalidPermits`] if `permits` is zero, or if it is
    /// shared with a seed greater than 2147483647.
    pub fn semaphore(
        &self,
        path: impl AsRef<str>,
        permits: impl Into<Permits>,
    ) -> Result<Semaphore, LockError> {
        let path = self.path(path)?;
        let count = permits.into().into_count(&path, self.worker().root())?;
        Ok(Semaphore { client: self.clone(), path, count, label: UNNAMED })
    }
}

impl Semaphore {
    /// Returns the semaphore's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.path.relative()
    }

    /// Names this semaphore in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { label: name.into(), ..self }
    }

    /// Acquires one permit, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn acquire(&self) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many(1).await
    }

    /// Acquires one permit, waiting for at most `wait` in total, including the time to connect.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many_timeout(1, wait).await
    }

    /// Acquires `permits` permits, all or none, waiting for at most the client's default wait.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn acquire_many(&self, permits: u32) -> Result<SemaphoreGuard, LockError> {
        self.acquire_many_timeout(permits, self.client.default_wait()).await
    }

    /// Acquires `permits` permits, all or none, waiting for at most `wait` in total, including the time to
    /// connect.
    ///
    /// [`Duration::MAX`] waits forever. If the number of permits is shared, a call may ask for more than
    /// there are now, and waits until the number has risen.
    ///
    /// # Errors
    ///
    /// * [`LockError::InvalidPermits`] if `permits` is zero or greater than the semaphore's number.
    /// * [`LockError::InvalidPermits`] if another holder uses a shared number and this client gives one, or
    ///   the reverse, or if both share numbers in different nodes.
    /// * [`LockError::PermitsDiffer`] if another holder has permits under a different number.
    /// * [`LockError::Refused`] if the node of a shared number does not contain a number of permits,
    ///   [`LockError::Denied`] if this client may not read or create it.
    /// * Those of [`Mutex::lock_timeout`](crate::Mutex::lock_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in line up. A contender that no other call needs is withdrawn in the
    /// background.
    pub async fn acquire_many_timeout(
        &self,
        permits: u32,
        wait: Duration,
    ) -> Result<SemaphoreGuard, LockError> {
        guard::enter(&self.lock_ref(permits)?, &self.client, wait).await
    }

    /// Acquires one permit if one is free and no other contender waits for it, and returns `Ok(None)`
    /// otherwise.
    ///
    /// See [`try_acquire_many`](Self::try_acquire_many).
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background, if no other call needs it.
    pub async fn try_acquire(&self) -> Result<Option<SemaphoreGuard>, LockError> {
        self.try_acquire_many(1).await
    }

    /// Acquires `permits` permits if they are free and no other contender waits for them, and returns
    /// `Ok(None)` otherwise.
    ///
    /// Its requests are bounded by the client's default wait. If another contender is acquiring permits at
    /// that moment and enough are free, the call waits up to a second for that contender to finish.
    ///
    /// # Errors
    ///
    /// Those of [`acquire_many_timeout`](Self::acquire_many_timeout). Contention is not an error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the contender in the background, if no other call needs it.
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<SemaphoreGuard>, LockError> {
        guard::try_enter(&self.lock_ref(permits)?, &self.client).await
    }

    /// Sets the number of permits of a semaphore whose number is shared. If its node is missing, it is created.
    ///
    /// Zero is allowed: no permit can be acquired then until the number rises.
    ///
    /// # Errors
    ///
    /// * [`LockError::InvalidPermits`] if the number is not shared, or `permits` is greater than 2147483647,
    ///   the largest `int` in Java.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client write or create the node.
    /// * [`LockError::OutcomeUnknown`] if the connection broke or the session ended; the number may have been set.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait; the number may
    ///   have been set.
    /// * [`LockError::AuthFailed`], [`LockError::Tls`], [`LockError::InvalidConfig`] if no session can be opened.
    /// * [`LockError::Closed`] if the client is shut down; the number may still be set.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_permits(&self, permits: u32) -> Result<(), LockError> {
        let Count::Shared { path, .. } = &self.count else {
            return Err(invalid(&self.path, permits, "the number of this semaphore is not shared"));
        };
        if i32::try_from(permits).is_err() {
            return Err(invalid(&self.path, permits, TOO_MANY));
        }
        let counter = path.clone();
        let set = move |session: Arc<Session>| async move {
            counter::set(session.requests(), &counter, permits).await
        };
        self.client.worker().ask(path, set).await
    }

    /// Lists the holders of permits and then the waiters, in order: one participant for each permit that is held,
    /// and one for each place in the queue. The calls of one client for the same number of permits share one place;
    /// see [`Participant::waiting_here`]. If the number is shared and its node is missing, the node is created.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::participants`](crate::Mutex::participants), [`LockError::Refused`] if the node of a shared
    /// number does not contain a number of permits, and [`LockError::Denied`] if this client may not read or create
    /// that node.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        participant::list_with_line(&self.client, &self.lock_ref(1)?).await
    }

    /// Acquires permits within `wait`, or at once. For generated code.
    #[doc(hidden)]
    pub async fn take(&self, permits: u32, wait: Option<Duration>) -> Result<SemaphoreGuard, LockError> {
        guard::take(&self.lock_ref(permits)?, &self.client, wait).await
    }

    fn lock_ref(&self, wanted: u32) -> Result<LockRef, LockError> {
        match self.count {
            _ if wanted == 0 => return Err(invalid(&self.path, wanted, "request at least one")),
            Count::Agreed(of) if wanted > of => {
                return Err(invalid(&self.path, wanted, &format!("the semaphore has {of}")));
            }
            _ => {}
        }
        let wanted = Wanted::Permits(contend::Permits { wanted, count: self.count.clone() });
        let (path, label) = (self.path.clone(), self.label.clone());
        Ok(LockRef { path, access: Access::Permits, wanted, label })
    }
}

/// The number of permits of a semaphore.
///
/// A plain number, such as `3`, must be the same for all participants; see
/// [`Client::semaphore`](crate::Client::semaphore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits(Source);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Given(u32),
    Shared { path: String, seed: u32 },
}

impl Permits {
    /// Uses the number in the node at `path`, below the client's namespace, which can change at any time.
    ///
    /// The node is that of Curator's `SharedCount`, and is created with `seed` if it is missing, at most
    /// 2147483647. [`Client::semaphore`](crate::Client::semaphore) checks both arguments. When the number rises,
    /// waiters get the new permits. When it falls, holders keep the permits that they have, and their clients pass
    /// them on within the bounds of [`Queueing`](crate::Queueing).
    pub fn shared(path: impl Into<String>, seed: u32) -> Self {
        Self(Source::Shared { path: path.into(), seed })
    }

    /// Returns the number for the semaphore at `path`, where the paths of a client begin at `root`.
    fn into_count(self, path: &NodePath, root: &str) -> Result<Count, LockError> {
        match self.0 {
            Source::Given(0) => Err(invalid(path, 0, "a semaphore needs at least one permit")),
            Source::Given(permits) => Ok(Count::Agreed(permits)),
            Source::Shared { seed, .. } if i32::try_from(seed).is_err() => Err(invalid(path, seed, TOO_MANY)),
            Source::Shared { path, seed } => Ok(Count::Shared { path: NodePath::new(root, &path)?, seed }),
        }
    }
}

impl From<u32> for Permits {
    fn from(permits: u32) -> Self {
        Self(Source::Given(permits))
    }
}

fn invalid(path: &NodePath, wanted: u32, reason: &str) -> LockError {
    LockError::InvalidPermits { path: path.relative().to_owned(), wanted, reason: reason.to_owned() }
}

/// The reason for refusing a shared number: Java reads it as signed.
const TOO_MANY: &str = "a shared number must fit in a signed 32-bit integer";
