//! The guard of a held lock: one type, whose parameter is the kind of lock.
//!
//! * [`running`]: runs a body under the lock.
//! * [`revocation`]: the callbacks for requests to release the lock.
//!
//! Uses the layers below: `current`, `hold`, `acquire`, `client`, `lease`, `session`, `token` and `error`.

mod revocation;
pub(crate) mod running;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::select_all;

use crate::acquire::Patience;
use crate::client::Client;
use crate::current::Current;
use crate::error::{LockError, LossReason};
use crate::hold::{self, Hold, LockRef};
use crate::lease::{self, LeaseState};
use crate::session::drive::Contention;
use crate::token::FencingToken;

use self::revocation::Callbacks;

/// A held lock. Dropping it releases the lock in the background.
///
/// Dropping the guard neither blocks nor needs a runtime. [`release`](Self::release) waits for the release
/// and returns its outcome. A leaked guard keeps the lock until its session ends.
///
/// `K` is the kind of lock: see [`MutexGuard`](crate::MutexGuard), [`ReadGuard`](crate::ReadGuard),
/// [`WriteGuard`](crate::WriteGuard), [`SemaphoreGuard`](crate::SemaphoreGuard) and
/// [`MultiGuard`](crate::MultiGuard). Guards of the last two kinds can have several nodes; such a guard is
/// held while all of its nodes are.
#[must_use = "if unused the lock is released immediately"]
#[clippy::has_significant_drop]
pub struct Guard<K> {
    /// Dropped before the holds, so that none is called after the release has begun.
    callbacks: Callbacks,
    /// One hold for each node; at least one.
    holds: Vec<Hold>,
    kind: PhantomData<fn() -> K>,
}

/// A kind of lock that has exactly one path.
#[doc(hidden)]
pub trait OnePath {}

impl<K: OnePath> Guard<K> {
    /// Returns the lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.holds[0].tenure().path().relative()
    }

    /// Returns the number by which a resource can tell this holder from earlier ones.
    ///
    /// All entries of one logical call share the token, and a downgrade keeps it. For several permits it is
    /// the smallest of their tokens. A semaphore has several holders at the same time: their tokens
    /// distinguish them, but do not show which of them is outdated.
    pub fn fencing_token(&self) -> FencingToken {
        self.current().fencing_token()
    }
}

impl<K> Guard<K> {
    pub(crate) fn new(holds: Vec<Hold>) -> Self {
        Self { callbacks: Callbacks::default(), holds, kind: PhantomData }
    }

    /// Returns `true` if the lock is held at this instant, by the lease clock and without a request.
    ///
    /// The answer can be outdated by the time it is used, because a process can be paused at any point. While
    /// the connection is broken, the answer is `false`; see [`state`](Self::state).
    pub fn is_held(&self) -> bool {
        self.state() == LeaseState::Held
    }

    /// Returns the state of the lock as this client knows it at this instant, without a request.
    pub fn state(&self) -> LeaseState {
        self.current().state()
    }

    /// Asks the servers whether the lock is still held, in one round trip.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is not held any more.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.current().verify().await
    }

    /// Waits until the lock is lost, and returns the reason.
    ///
    /// The future stays pending while the lock is held.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost. After a loss every call returns the reason at once.
    pub async fn lost(&self) -> LossReason {
        self.current().lost().await
    }

    /// Replaces the data of the node at `path` if and only if the lock is held at that moment.
    ///
    /// The server checks this guard's own node in the same transaction, so a holder that lost the lock
    /// without knowing it cannot write. `path` is an absolute path below the client's namespace. The request, which
    /// contains the data, `path` and the paths of this guard's nodes, has at most 1,048,575 bytes, the default of the
    /// servers' `jute.maxbuffer`. A longer one is refused before anything is sent.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost; the write was not applied.
    /// * [`LockError::Refused`], [`LockError::Denied`] or [`LockError::InvalidPath`]; the write was not
    ///   applied.
    /// * [`LockError::OutcomeUnknown`] if the connection broke, or no answer came within the client's default
    ///   wait. The write may have been applied, but only while the lock was held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_data(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().set_data(path, data).await
    }

    /// Creates a persistent node at `path` if and only if the lock is held at that moment.
    ///
    /// `path` and `data` have the limits of [`set_data`](Self::set_data).
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NodeExists`](crate::Refusal::NodeExists) if the
    /// node exists, and [`Refusal::NoNode`](crate::Refusal::NoNode) if its parent does not.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn create(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().create(path, data).await
    }

    /// Deletes the node at `path` if and only if the lock is held at that moment.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NoNode`](crate::Refusal::NoNode) if the node does
    /// not exist, and [`Refusal::NotEmpty`](crate::Refusal::NotEmpty) if it has children.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.current().delete(path).await
    }

    /// Replaces the data of the node at `path`, or creates the node, if and only if the lock is held at that moment.
    ///
    /// Missing parents are created as well, as persistent nodes without data. Each request is guarded like
    /// [`set_data`](Self::set_data), which also states the limits of `path` and `data`. A node that exists takes
    /// one request. A node that does not exist takes a second one, and one more for each missing parent. If other
    /// clients create and delete the same node meanwhile, the answer to each request decides the next one, until the
    /// client's default wait is over.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data), and [`LockError::Timeout`] if every request within the client's default
    /// wait was refused because of such changes; nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/jobs/7")?.lock().await?;
    /// guard.upsert("/ledgers/7/last", "paid").await?;
    /// assert_eq!(guard.get("/ledgers/7/last").await?.as_deref(), Some(&b"paid"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn upsert(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().upsert(path, data).await
    }

    /// Returns the data of the node at `path`, or `None` if there is no such node, as of a moment at which the lock
    /// was held.
    ///
    /// The server looks for this guard's own node right behind the read, in the same round trip. Under a lock that only
    /// one call holds, the data therefore contains every guarded write of earlier holders, and no write of a later one.
    /// `path` is an absolute path below the client's namespace.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost, even if the data was read before.
    /// * [`LockError::Denied`], [`LockError::Refused`] or [`LockError::InvalidPath`].
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait. After a broken
    ///   connection, the client reads again until then.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/counters/7")?.lock().await?;
    /// let read = guard.get("/counters/7/value").await?.unwrap_or_default();
    /// let value: u64 = String::from_utf8_lossy(&read).parse().unwrap_or(0);
    /// guard.upsert("/counters/7/value", (value + 1).to_string()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get(&self, path: &str) -> Result<Option<Vec<u8>>, LockError> {
        self.current().get(path).await
    }

    /// Waits until another client asks this holder to release the lock.
    ///
    /// The future stays pending if none does. [`Client::revoke`] and Curator's `Revoker` ask in this way. It
    /// is only a request: the lock stays held until this holder releases it. The first call of this method or
    /// of [`on_revoke`](Self::on_revoke) makes the client watch the lock's node, which costs one request.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn revoked(&self) {
        self.watch_revocation();
        select_all(self.holds.iter().map(|hold| Box::pin(hold.tenure().asked()))).await;
    }

    /// Calls `callback` on a new thread when another client asks this holder to release the lock.
    ///
    /// The callback is called at most once, and never after the release of this guard has begun. It outlives
    /// a downgrade: a request to the reader calls it too. It may block, because it runs on its own thread. If
    /// it is not called, it is dropped with the guard. See [`revoked`](Self::revoked).
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) {
        self.watch_revocation();
        let tenures = self.holds.iter().map(|hold| hold.tenure().clone()).collect();
        self.client().worker().spawn(self.callbacks.keep(Box::new(callback), tenures));
    }

    /// Starts tasks that watch the nodes' data for a request to release, unless there are some already.
    fn watch_revocation(&self) {
        for tenure in self.holds.iter().map(|hold| hold.tenure()) {
            if tenure.claim_revocations() {
                self.client().worker().spawn(lease::watch_revocation(tenure.clone()));
            }
        }
    }

    /// Releases the lock, and waits until the servers have confirmed it, or another call of this client has the
    /// lock.
    ///
    /// If the logical call has entered the lock more than once, only the last release frees it and waits. An
    /// earlier one returns at once, and so does that of a reader while other calls of this client still read. A
    /// guard of several nodes releases all of them, even if the release of one fails.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock was lost before.
    /// * [`LockError::Timeout`] if the server does not answer within the client's default wait; the release
    ///   continues in the background.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client delete its own
    ///   node; the lock stays taken until the session ends.
    ///
    /// If the release of several nodes fails, the first failure is returned and the others are logged.
    ///
    /// # Cancel safety
    ///
    /// The release continues in the background.
    pub async fn release(self) -> Result<(), LockError> {
        let within = self.client().default_wait();
        hold::released(hold::begin_release(self.into_holds()), within).await
    }

    /// Releases the lock after a body. A failure is only told to the listeners and logged, because it must not
    /// replace the body's result.
    #[doc(hidden)]
    pub async fn finish(self) {
        hold::finish(self.into_holds()).await;
    }

    pub(crate) fn client(&self) -> Client {
        self.holds[0].client()
    }

    pub(crate) fn holds(&self) -> &[Hold] {
        &self.holds
    }

    pub(crate) fn holds_mut(&mut self) -> &mut [Hold] {
        &mut self.holds
    }

    /// Returns a guard of another kind with the same holds and callbacks.
    pub(crate) fn into_kind<T>(self) -> Guard<T> {
        Guard { callbacks: self.callbacks, holds: self.holds, kind: PhantomData }
    }

    pub(crate) fn into_holds(self) -> Vec<Hold> {
        let Self { callbacks: _callbacks, holds, .. } = self;
        holds
    }

    fn current(&self) -> Current {
        Current::of(self.holds.iter().map(|hold| hold.entry().clone()), self.client().worker().clone())
    }

    /// Returns an error if the lock is lost.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        self.holds.iter().try_for_each(|hold| hold.tenure().check())
    }
}

impl<K> fmt::Debug for Guard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenures = self.holds.iter().map(|hold| (hold.tenure().path().relative(), hold.token()));
        f.debug_struct("Guard")
            .field("held", &tenures.collect::<Vec<_>>())
            .field("state", &self.state())
            .finish()
    }
}

/// Enters a lock, waiting for at most `wait`.
pub(crate) async fn enter<K>(lock: &LockRef, client: &Client, wait: Duration) -> Result<Guard<K>, LockError> {
    let patience = Patience::within(wait, lock.path.relative())?;
    let holds = hold::enter(client, lock, patience, None).await?;
    // Not expected: only an attempt that does not wait returns `None`.
    holds.map(Guard::new).ok_or_else(|| lock.timeout(wait, None))
}

/// Enters a lock without waiting for other holders.
pub(crate) async fn try_enter<K>(lock: &LockRef, client: &Client) -> Result<Option<Guard<K>>, LockError> {
    let patience = Patience::new(client.default_wait(), Contention::Leave);
    Ok(hold::enter(client, lock, patience, None).await?.map(Guard::new))
}

/// Takes a lock, runs `body` under it, and releases it.
pub(crate) async fn run<K, T>(
    taken: impl Future<Output = Result<Guard<K>, LockError>>,
    body: impl AsyncFnOnce(&Guard<K>) -> T,
) -> Result<T, LockError> {
    let guard = taken.await?;
    let value = guard.run(body(&guard)).await?;
    guard.finish().await;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};
    use std::thread;
    use std::time::Duration;

    use crate::LockEventKind;
    use crate::client::connected;

    /// A value whose end takes until the end of a lock is told.
    #[derive(Default)]
    struct Slow(Mutex<Option<mpsc::Receiver<()>>>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let told = self.0.get_mut().unwrap().take().unwrap();
            told.recv_timeout(Duration::from_secs(20)).expect("the end of the lock is told");
        }
    }

    #[tokio::test]
    async fn the_last_guard_that_outlives_its_client_is_released_and_not_lost() {
        let (_server, client) = connected().await;
        let mut events = client.events();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let (tell, told) = mpsc::channel();
        // The client drops this value after it has begun to close its session.
        let slow: &Slow = client.candidates().get_or_default();
        *slow.0.lock().unwrap() = Some(told);
        let listens = tokio::spawn(async move {
            let is_held =
                |kind: &LockEventKind| matches!(kind, LockEventKind::Begun | LockEventKind::Acquired { .. });
            let mut kind = LockEventKind::Begun;
            while is_held(&kind) {
                kind = events.next().await.expect("the client is there").kind;
            }
            tell.send(()).ok();
            kind
        });
        drop(client);
        thread::spawn(move || drop(guard));
        let end = listens.await.unwrap();
        assert!(matches!(end, LockEventKind::Released { .. }), "{end:?}");
    }
}
