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
//! The lease is released when the last hold is dropped, whatever their order, and a place in a hold is free
//! when all that was entered below it has ended. A scope does not keep a hold alive: a spawned task that
//! inherited it prolongs the lock only while it has entered it itself.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Instant;

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
    place: Option<Arc<Place>>,
}

/// A hold's place as a child. It keeps the places of its ancestors, because a hold may outlive those around
/// it, and must still exclude their siblings.
#[derive(Debug)]
struct Place {
    _permit: OwnedSemaphorePermit,
    _outer: Option<Arc<Self>>,
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
    let started = Instant::now();
    let patience = || patience.spent(started.elapsed());
    while let Some(outer) = nearest(client, path) {
        let (tenure, child) = (outer.tenure().clone(), outer.child.clone());
        // Waiting for a hold must not keep it alive.
        let outer = Arc::downgrade(&{ outer });
        let permit = match child.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if patience().contention == Contention::Leave => return Ok(None),
            Err(_) => turn_of(client, path, child, patience()).await?,
        };
        if outer.strong_count() == 0 {
            // The hold ended meanwhile, and another one may be around it.
            continue;
        }
        match tenure.state() {
            LeaseState::Held => {}
            LeaseState::Lost(reason) => return Err(tenure.lost_error(reason)),
            LeaseState::Suspended => {
                let confirmed = confirm(client, &tenure, patience()).await;
                if outer.strong_count() > 0 {
                    confirmed?;
                }
            }
        }
        if let Some(outer) = outer.upgrade() {
            return Ok(Some(outer.enter_again(permit)));
        }
    }
    let lease = acquire::acquire(client.worker(), path, patience()).await?;
    Ok(lease.map(|lease| Hold { client: client.clone(), lease: Arc::new(lease), child: free(), place: None }))
}

/// Runs a future with what the current call holds, for where a task is spawned on its behalf.
///
/// A task that is spawned in another way is a stranger, and excluded like one.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    SCOPE.scope(current(), future)
}

impl Hold {
    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.lease.tenure()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a future inside this hold.
    pub(crate) fn scope<F: Future>(self: &Arc<Self>, future: F) -> impl Future<Output = F::Output> + use<F> {
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

    fn enter_again(&self, permit: OwnedSemaphorePermit) -> Self {
        let place = Place { _permit: permit, _outer: self.place.clone() };
        Self {
            client: self.client.clone(),
            lease: self.lease.clone(),
            child: free(),
            place: Some(Arc::new(place)),
        }
    }
}

fn free() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

/// Waits until the siblings in front have ended, on the client's thread, whose clock runs whatever the
/// caller's runtime does.
async fn turn_of(
    client: &Client,
    path: &NodePath,
    child: Arc<Semaphore>,
    patience: Patience,
) -> Result<OwnedSemaphorePermit, LockError> {
    let (mut reply, answer) = oneshot::channel();
    client.worker().spawn(async move {
        let permit = tokio::select! {
            permit = timeout(patience.left(), child.acquire_owned()) => permit,
            () = reply.closed() => return,
        };
        // A caller that is gone by now drops the permit with the answer.
        drop(reply.send(permit));
    });
    let path = || path.relative().to_owned();
    match answer.await {
        Ok(Ok(Ok(permit))) => Ok(permit),
        Ok(Err(_)) => Err(LockError::Timeout { path: path(), waited: patience.wait, phase: Phase::Sibling }),
        Ok(Ok(Err(_))) | Err(_) => Err(LockError::Closed { path: path() }),
    }
}

/// Asks the servers, for so long, until they say whether the lock is held.
pub(crate) async fn confirm(
    client: &Client,
    tenure: &Arc<Tenure>,
    patience: Patience,
) -> Result<(), LockError> {
    let asked = tenure.clone();
    let answer = client.worker().call(patience.left(), async move { asked.settle().await }).await;
    tenure.check()?;
    answer.map_err(|unanswered| unanswered.into_error(tenure.path(), patience.wait))
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
