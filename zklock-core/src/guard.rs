//! A held lock of any kind: one type, whose parameter says of which.

pub(crate) mod running;
pub(crate) mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::{select_all, try_join_all};

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{LockError, LossReason};
use crate::hold::{self, Hold};
use crate::lease::LeaseState;
use crate::session::drive::Contention;
use crate::token::FencingToken;

/// A held lock. Dropping it releases the lock in the background.
///
/// The drop neither blocks nor needs a runtime; [`release`](Self::release) waits for the release and
/// reports it. A guard that is leaked keeps the lock until its session ends.
///
/// `K` says what is held; see [`MutexGuard`](crate::MutexGuard), [`ReadGuard`](crate::ReadGuard),
/// [`WriteGuard`](crate::WriteGuard), [`SemaphoreGuard`](crate::SemaphoreGuard) and [`MultiGuard`](crate::MultiGuard). A guard of several nodes, as the last two may be, is held while all of them are.
#[must_use = "if unused the lock is released immediately"]
#[clippy::has_significant_drop]
pub struct Guard<K> {
    client: Client,
    /// One for each node; at least one.
    holds: Vec<Arc<Hold>>,
    kind: PhantomData<fn() -> K>,
}

/// What is held by way of one path.
#[doc(hidden)]
pub trait OnePath {}

impl<K: OnePath> Guard<K> {
    /// The lock's path below the client's namespace.
    pub fn path(&self) -> &str {
        self.holds[0].tenure().path().relative()
    }

    /// The number by which a resource tells this holder from older ones.
    ///
    /// It is the same for all entries of one logical call, and stays what it is in a downgrade. Of several
    /// permits it is the least; holders of a semaphore are there at the same time, so that theirs tells them
    /// apart, but not old from new.
    pub fn fencing_token(&self) -> FencingToken {
        let tokens = self.holds.iter().map(|hold| hold.tenure().token());
        tokens.fold(self.holds[0].tenure().token(), FencingToken::min)
    }
}

impl<K> Guard<K> {
    pub(crate) fn new(client: &Client, holds: Vec<Hold>) -> Self {
        let holds = holds.into_iter().map(Arc::new).collect();
        Self { client: client.clone(), holds, kind: PhantomData }
    }

    /// Tells whether the lock is held at this instant, by the lease clock and without a request.
    ///
    /// The answer may be outdated when it is used: a process can be paused at any point. While the
    /// connection is broken the answer is `false`; see [`state`](Self::state).
    pub fn is_held(&self) -> bool {
        self.state() == LeaseState::Held
    }

    /// What may be believed of the lock at this instant, without a request.
    pub fn state(&self) -> LeaseState {
        let states = self.holds.iter().map(|hold| hold.tenure().state());
        states.fold(LeaseState::Held, |worst, state| match (worst, state) {
            (LeaseState::Lost(reason), _) | (_, LeaseState::Lost(reason)) => LeaseState::Lost(reason),
            (LeaseState::Suspended, _) | (_, LeaseState::Suspended) => LeaseState::Suspended,
            (LeaseState::Held, LeaseState::Held) => LeaseState::Held,
        })
    }

    /// Asks the servers whether the lock is still held: one round trip.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if it is not, [`LockError::Timeout`] if they do not answer within the client's
    /// default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.check()?;
        let patience = Patience::new(self.client.default_wait(), Contention::Wait);
        let confirmed = self.holds.iter().map(|hold| hold::confirm(&self.client, hold.tenure(), patience));
        try_join_all(confirmed).await.map(drop)
    }

    /// Waits until the lock is lost, and says why; pending for ever while it is held.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; a loss is told to everyone who asks, also later.
    pub async fn lost(&self) -> LossReason {
        match &self.holds[..] {
            [hold] => hold.tenure().lost().await,
            holds => select_all(holds.iter().map(|hold| Box::pin(hold.tenure().lost()))).await.0,
        }
    }

    /// Waits until somebody asks this holder to release the lock; pending for ever if nobody does.
    ///
    /// That is what [`Client::revoke`] does, and Curator's `Revoker`. It is a request: the lock stays held
    /// until it is released. Who asks for it first makes the client watch the lock's node, which costs one
    /// request.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn revoked(&self) {
        self.holds.iter().for_each(|hold| hold.watch_revocation());
        select_all(self.holds.iter().map(|hold| Box::pin(hold.tenure().revocation().asked()))).await;
    }

    /// Calls `callback`, on a thread of its own, when somebody asks this holder to release the lock.
    ///
    /// It is called once at most, and not once the release of this guard has begun; after a downgrade it is called
    /// for the reader. What it does, and for how long, disturbs nothing; see [`revoked`](Self::revoked).
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) {
        let (mut ends, mut tenures) = (Vec::new(), Vec::new());
        for hold in &self.holds {
            hold.watch_revocation();
            ends.push(hold.end());
            tenures.push(hold.tenure().clone());
        }
        self.client.worker().spawn(async move {
            // One of several nodes speaks for all, and they end together.
            let ended = select_all(ends.iter().map(|end| Box::pin(end.cancelled())));
            let asked =
                select_all(tenures.iter().map(|tenure| Box::pin(tenure.revocation().asked_before_release())));
            let is_asked = tokio::select! {
                biased;
                _ = ended => false,
                (is_asked, ..) = asked => is_asked,
            };
            if is_asked {
                let started = std::thread::Builder::new().name("zklock-revoked".into()).spawn(callback);
                if let Err(error) = started {
                    tracing::warn!(%error, "no thread to tell a holder that it is to release");
                }
            }
        });
    }

    /// Releases the lock and waits until the server has done it.
    ///
    /// If this call holds the lock more than once, only the last release frees it. Of several nodes all are
    /// released, whatever becomes of one of them.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock had been lost before.
    /// * [`LockError::Timeout`] if the server does not answer within the client's default wait; the release
    ///   goes on in the background.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client delete its own
    ///   node; the lock stays taken until the session ends.
    ///
    /// Where the release of several nodes fails, the first failure is returned and the others are logged.
    ///
    /// # Cancel safety
    ///
    /// The release goes on in the background.
    pub async fn release(self) -> Result<(), LockError> {
        hold::release_all(self.holds).await
    }

    /// Releases the lock at the end of a body, whose result a failed release must not replace.
    #[doc(hidden)]
    pub async fn finish(self) {
        if let Err(error) = self.release().await {
            tracing::warn!(%error, "release failed");
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn holds(&self) -> &[Arc<Hold>] {
        &self.holds
    }

    /// Fails if the lock is lost.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        self.holds.iter().try_for_each(|hold| hold.tenure().check())
    }
}

impl<K> fmt::Debug for Guard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenures = self.holds.iter().map(|hold| (hold.tenure().path().relative(), hold.tenure().token()));
        f.debug_struct("Guard")
            .field("held", &tenures.collect::<Vec<_>>())
            .field("state", &self.state())
            .finish()
    }
}
