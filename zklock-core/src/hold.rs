//! Reentrancy: the tree of holds of one logical call.
//!
//! What is held follows the call and not the thread or the task: a task-local scope carries it along with
//! the future that runs under a lock. Inside, the same lock is entered again without a request. Each entry
//! is a *hold*, a child of the nearest hold of that lock, and each hold admits one child at a time:
//!
//! ```text
//!  lock()            the lease
//!   └ hold ── run ──► a() enters again     one child at a time, so that siblings, such as the two
//!                      └ hold ── … ──►     sides of a join!, exclude each other
//! ```
//!
//! The lease is released when the last hold is dropped, whatever their order. A scope does not keep a hold
//! alive, so a spawned task that inherited it cannot prolong the lock.

use std::future::Future;
use std::sync::{Arc, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::acquire::{self, Patience};
use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::lease::{Lease, LeaseState, Tenure};
use crate::path::NodePath;
use crate::session::drive::Contention;

tokio::task_local! {
    /// The innermost hold of the call that is being polled.
    static SCOPE: Option<Arc<Scope>>;
}

/// One entry into a lock.
#[derive(Debug)]
pub(crate) struct Hold {
    client: Client,
    lease: Arc<Lease>,
    /// Admits one child at a time.
    child: Arc<Semaphore>,
    /// The place in the hold that this one is a child of.
    _place: Option<OwnedSemaphorePermit>,
}

struct Scope {
    hold: Weak<Hold>,
    outer: Option<Arc<Self>>,
}

/// Enters a lock: again, if the current call holds it, or else by an acquisition.
///
/// `Ok(None)` says that others have it, where the caller does not want to wait for them.
pub(crate) async fn enter(
    client: &Client,
    path: &NodePath,
    patience: Patience,
) -> Result<Option<Hold>, LockError> {
    match nearest(client, path) {
        Some(outer) => outer.enter_again(patience).await,
        None => {
            let lease = acquire::acquire(client.worker(), path, patience).await?;
            Ok(lease.map(|lease| Hold::new(client.clone(), Arc::new(lease), None)))
        }
    }
}

/// Runs a future with what the current call holds, for where a task is spawned on its behalf.
///
/// A task that is spawned in another way is a stranger, and excluded like one.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    SCOPE.scope(current(), future)
}

impl Hold {
    fn new(client: Client, lease: Arc<Lease>, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { client, lease, child: Arc::new(Semaphore::new(1)), _place: place }
    }

    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.lease.tenure()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a future inside this hold.
    pub(crate) fn scope<F: Future>(self: &Arc<Self>, future: F) -> impl Future<Output = F::Output> {
        let scope = Scope { hold: Arc::downgrade(self), outer: current() };
        SCOPE.scope(Some(Arc::new(scope)), future)
    }

    /// Ends this hold; the last one releases the lock and waits for it.
    pub(crate) async fn release(self) -> Result<(), LockError> {
        match Arc::try_unwrap(self.lease) {
            Ok(lease) => lease.release().await,
            Err(shared) => shared.tenure().check(),
        }
    }

    async fn enter_again(self: Arc<Self>, patience: Patience) -> Result<Option<Self>, LockError> {
        let place = match self.child.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) if patience.contention == Contention::Leave => return Ok(None),
            Err(_) => self.wait_for_sibling(patience).await?,
        };
        match self.tenure().state() {
            LeaseState::Held => {}
            LeaseState::Lost(reason) => return Err(self.tenure().lost_error(reason)),
            LeaseState::Suspended => confirm(&self.client, self.tenure()).await?,
        }
        Ok(Some(Self::new(self.client.clone(), self.lease.clone(), Some(place))))
    }

    /// Waits on the client's thread, whose clock runs whatever the caller's runtime does.
    async fn wait_for_sibling(&self, patience: Patience) -> Result<OwnedSemaphorePermit, LockError> {
        let (mut reply, answer) = oneshot::channel();
        let child = self.child.clone();
        self.client.worker().spawn(async move {
            let place = tokio::select! {
                place = timeout(patience.wait, child.acquire_owned()) => place,
                () = reply.closed() => return,
            };
            // A caller that is gone by now drops the place with the answer.
            drop(reply.send(place));
        });
        let path = || self.tenure().path().relative().to_owned();
        match answer.await {
            Ok(Ok(Ok(place))) => Ok(place),
            Ok(Err(_)) => {
                Err(LockError::Timeout { path: path(), waited: patience.wait, phase: Phase::Sibling })
            }
            Ok(Ok(Err(_))) | Err(_) => Err(LockError::Closed { path: path() }),
        }
    }
}

/// Asks the servers until they say whether the lock is held, within the client's default wait.
pub(crate) async fn confirm(client: &Client, tenure: &Arc<Tenure>) -> Result<(), LockError> {
    let within = client.default_wait();
    let asked = tenure.clone();
    match client.worker().call(within, async move { asked.settle().await }).await {
        Some(()) => tenure.check(),
        None => {
            tenure.check()?;
            let path = tenure.path().relative().to_owned();
            Err(LockError::Timeout { path, waited: within, phase: Phase::Requesting })
        }
    }
}

fn current() -> Option<Arc<Scope>> {
    SCOPE.try_with(Clone::clone).ok().flatten()
}

/// The innermost hold of this lock in the current call.
fn nearest(client: &Client, path: &NodePath) -> Option<Arc<Hold>> {
    let mut scope = current();
    while let Some(inner) = scope {
        let hold = inner.hold.upgrade();
        let is_ours = |hold: &Arc<Hold>| hold.tenure().path() == path && hold.client.is_same(client);
        if let Some(hold) = hold.filter(is_ours) {
            return Some(hold);
        }
        scope = inner.outer.clone();
    }
    None
}
