//! The guard of a held lock: one type, whose parameter is the kind of lock.
//!
//! * [`entering`]: enters a lock, and ends with its guard.
//! * [`running`]: runs a body under the lock.
//! * [`mod@write`], [`upsert`]: make writes that are applied only while the lock is held.
//! * [`read`]: reads data as of a moment at which the lock was held.
//!
//! Uses the floors below: `hold`, `acquire`, `client`, `lease`, `session`, `path`, `token` and `error`.

mod entering;
pub(crate) mod read;
pub(crate) mod running;
pub(crate) mod upsert;
pub(crate) mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::{select_all, try_join_all};

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{LockError, LossReason};
use crate::hold::{self, Hold, Holds, OnRevoke, Releasing};
use crate::lease::LeaseState;
use crate::session::drive::Contention;
use crate::token::FencingToken;

pub(crate) use self::entering::enter;

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
    /// One hold for each node; at least one.
    holds: Holds,
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
        let tokens = self.holds.iter().map(|hold| hold.token());
        tokens.fold(self.holds[0].token(), FencingToken::min)
    }
}

impl<K> Guard<K> {
    pub(crate) fn new(holds: Holds) -> Self {
        Self { holds, kind: PhantomData }
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
        let states = self.holds.iter().map(|hold| hold.tenure().state());
        states.fold(LeaseState::Held, |worst, state| match (worst, state) {
            (LeaseState::Lost(reason), _) | (_, LeaseState::Lost(reason)) => LeaseState::Lost(reason),
            (LeaseState::Suspended, _) | (_, LeaseState::Suspended) => LeaseState::Suspended,
            (LeaseState::Held, LeaseState::Held) => LeaseState::Held,
        })
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
        self.check()?;
        let patience = Patience::new(self.client().default_wait(), Contention::Wait);
        let confirmed =
            self.holds.iter().map(|hold| hold::confirm(hold.client().worker(), hold.tenure(), patience));
        try_join_all(confirmed).await.map(drop)
    }

    /// Waits until the lock is lost, and returns the reason.
    ///
    /// The future stays pending while the lock is held.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost. After a loss every call returns the reason at once.
    pub async fn lost(&self) -> LossReason {
        match &self.holds[..] {
            [hold] => hold.tenure().lost().await,
            holds => select_all(holds.iter().map(|hold| Box::pin(hold.tenure().lost()))).await.0,
        }
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
        self.holds.iter().for_each(|hold| hold.watch_revocation());
        select_all(self.holds.iter().map(|hold| Box::pin(hold.tenure().asked()))).await;
    }

    /// Calls `callback` on a new thread when another client asks this holder to release the lock.
    ///
    /// The callback is called at most once, and never after the release of this guard has begun. It outlives
    /// a downgrade: a request to the reader calls it too. It may block, because it runs on its own thread. If
    /// it is not called, it is dropped with the guard. See [`revoked`](Self::revoked).
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) {
        let callback = Arc::new(OnRevoke::new(callback));
        let called = Arc::downgrade(&callback);
        let (mut ends, mut tenures) = (Vec::new(), Vec::new());
        for hold in self.holds() {
            hold.watch_revocation();
            hold.keep(&callback);
            ends.push(hold.end());
            tenures.push(hold.tenure().clone());
        }
        self.client().worker().spawn(async move {
            // A request to any one of several nodes counts for all of them; their holds end together.
            let ended = select_all(ends.iter().map(|end| Box::pin(end.cancelled())));
            let asked = select_all(tenures.iter().map(|tenure| Box::pin(tenure.asked_before_release())));
            let is_asked = tokio::select! {
                biased;
                _ = ended => false,
                (is_asked, ..) = asked => is_asked,
            };
            if is_asked {
                // The guard drops a callback whose thread comes too late.
                let call = move || called.upgrade().iter().for_each(|callback| callback.call());
                let started = std::thread::Builder::new().name("zklock-revoked".into()).spawn(call);
                if let Err(error) = started {
                    tracing::warn!(%error, "cannot start the thread of a revocation callback");
                }
            }
        });
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
        // Not in a function of its own, whose future would have room for the holds once more.
        let released = match hold::begin_release(self.holds) {
            Releasing::Done(outcome) => return outcome,
            Releasing::UnderWay(released) => released,
        };
        released.await
    }

    /// Releases the lock after a body. A failure is only told to the listeners and logged, because it must not
    /// replace the body's result.
    ///
    /// The caller polls the future at once: what follows the end of the holds begins with the first poll.
    #[doc(hidden)]
    #[inline]
    pub fn finish(self) -> impl Future<Output = ()> + Send + use<K> {
        hold::finish(self.holds)
    }

    pub(crate) fn client(&self) -> &Client {
        self.holds[0].client()
    }

    pub(crate) fn into_holds(self) -> Holds {
        self.holds
    }

    pub(crate) fn holds(&self) -> &[Hold] {
        &self.holds
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
