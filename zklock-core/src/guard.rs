//! The guard of a held lock: one type, whose parameter is the kind of lock.
//!
//! * [`running`]: runs a body under the lock.
//! * [`revocation`]: the callbacks for requests to release the lock.
//!
//! Uses the layers below: `held`, `hold`, `deadline`, `client`, `lease`, `session` and `error`.

mod revocation;
pub(crate) mod running;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use futures_util::future::select_all;

use crate::client::Client;
use crate::deadline::Deadline;
use crate::error::LockError;
use crate::held::Held;
use crate::hold::{self, Hold, LockRef};
use crate::session::drive::Contention;

use self::revocation::Callbacks;

/// A held lock. Dropping it releases the lock in the background.
///
/// Dropping the guard neither blocks nor needs a runtime. [`release`](Self::release) waits for the release
/// and returns its outcome. A leaked guard keeps the lock until its session ends.
///
/// It dereferences to [`Held`], which has its path and token, and the writes and reads under it.
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
    held: Held,
    kind: PhantomData<fn() -> K>,
}

impl<K> Guard<K> {
    pub(crate) fn new(holds: Vec<Hold>) -> Self {
        Self::with_callbacks(Callbacks::default(), holds)
    }

    fn with_callbacks(callbacks: Callbacks, holds: Vec<Hold>) -> Self {
        Self { callbacks, held: Held::of_holds(&holds), holds, kind: PhantomData }
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
        select_all(self.holds.iter().map(|hold| Box::pin(hold.lease().asked()))).await;
    }

    /// Calls `callback` on a new thread when another client asks this holder to release the lock.
    ///
    /// The callback is called at most once, and never after the release of this guard has begun. It outlives
    /// a downgrade: a request to the reader calls it too. It may block, because it runs on its own thread. If
    /// it is not called, it is dropped with the guard. See [`revoked`](Self::revoked).
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) {
        self.watch_revocation();
        let leases = self.holds.iter().map(|hold| hold.lease().clone()).collect();
        self.client().worker().spawn(self.callbacks.keep(Box::new(callback), leases));
    }

    /// Starts tasks that watch the nodes' data for a request to release, unless there are some already.
    fn watch_revocation(&self) {
        for lease in self.holds.iter().map(|hold| hold.lease()) {
            lease.watch_requests();
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
        Guard::with_callbacks(self.callbacks, self.holds)
    }

    pub(crate) fn into_holds(self) -> Vec<Hold> {
        let Self { callbacks: _callbacks, holds, .. } = self;
        holds
    }
}

impl<K> Deref for Guard<K> {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl<K> fmt::Debug for Guard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leases = self.holds.iter().map(|hold| (hold.lease().path().relative(), hold.token()));
        f.debug_struct("Guard")
            .field("held", &leases.collect::<Vec<_>>())
            .field("state", &self.state())
            .finish()
    }
}

/// Enters a lock, waiting for at most `wait`.
pub(crate) async fn enter<K>(lock: &LockRef, client: &Client, wait: Duration) -> Result<Guard<K>, LockError> {
    let deadline = Deadline::within(wait, lock.path.relative())?;
    let holds = hold::enter(client, lock, deadline, None).await?;
    // Not expected: only an attempt that does not wait returns `None`.
    holds.map(Guard::new).ok_or_else(|| lock.timeout(wait, None))
}

/// Enters a lock without waiting for other holders.
pub(crate) async fn try_enter<K>(lock: &LockRef, client: &Client) -> Result<Option<Guard<K>>, LockError> {
    let deadline = Deadline::new(client.default_wait(), Contention::Leave);
    Ok(hold::enter(client, lock, deadline, None).await?.map(Guard::new))
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
