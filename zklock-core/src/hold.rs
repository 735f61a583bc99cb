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
//! The readers among the children of a hold share it. A writer who reads enters again; when the last hold for
//! writing ends and some for reading are left, the lock is downgraded. A reader cannot enter again to write.
//!
//! The lease is released when the last hold is dropped, whatever their order, and a place in a hold is free
//! when all that was entered below it has ended. A scope does not keep a hold alive: a spawned task that
//! inherited it prolongs the lock only while it has entered it itself.

use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::acquire::Patience;
use crate::client::Client;
use crate::client::worker::Unanswered;
use crate::error::{LockError, LossReason, Phase};
use crate::lease::{self, Lease, Tenure};

use self::entry::Again;
use self::stake::Stake;
use self::waiting::turn_of;

pub(crate) use self::door::Door;
pub(crate) use self::enter::enter;
pub(crate) use self::entry::Entry;
pub use self::scope::inherit;
pub(crate) use self::scope::{scope, scope_blocking};
pub(crate) use self::waiting::confirm;

mod door;
mod enter;
mod entry;
mod scope;
mod stake;
mod waiting;

/// One entry into a lock.
#[derive(Debug)]
pub(crate) struct Hold {
    client: Client,
    entry: Entry,
    /// Dropped before the stake, which does nothing then for the last hold of the lease.
    lease: Arc<Lease>,
    stake: Option<Stake>,
    /// Admits one child at a time, or many readers.
    child: Arc<Semaphore>,
    /// The place in the hold that this one is a child of.
    place: Option<Arc<Place>>,
    /// Cancelled when this hold ends, for those who asked for it.
    end: OnceLock<Arc<DropGuard>>,
}

/// A hold's place as a child. It keeps the places of its ancestors, because a hold may outlive those around
/// it, and must still exclude their siblings.
#[derive(Debug)]
struct Place {
    _permit: OwnedSemaphorePermit,
    _outer: Option<Arc<Self>>,
}

/// Ends holds, the youngest first, whatever becomes of one of them; the first failure is returned.
pub(crate) async fn release_all(holds: Vec<Arc<Hold>>) -> Result<(), LockError> {
    let outcomes = join_all(holds.into_iter().rev().map(release)).await;
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|error| tracing::warn!(%error, "release failed"));
    first.map_or(Ok(()), Err)
}

async fn release(hold: Arc<Hold>) -> Result<(), LockError> {
    match Arc::try_unwrap(hold) {
        Ok(hold) => hold.release().await,
        // A call inside is just entering; it ends the hold when it is done.
        Err(shared) => shared.tenure().check(),
    }
}

impl Hold {
    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.lease.tenure()
    }

    /// A token that is cancelled when this hold ends.
    pub(crate) fn end(&self) -> CancellationToken {
        let end = self.end.get_or_init(|| Arc::new(CancellationToken::new().drop_guard()));
        end.token().clone()
    }

    /// Has the node's data looked at for a request to release, if nobody does so yet.
    pub(crate) fn watch_revocation(&self) {
        if self.tenure().revocation().claim() {
            self.client.worker().spawn(lease::watch_revocation(self.tenure().clone()));
        }
    }

    /// Ends this hold; the last one releases the lock and waits for it, the last writer among readers
    /// downgrades it.
    pub(crate) async fn release(self) -> Result<(), LockError> {
        let Self { client, lease, stake, place, .. } = self;
        let tenure = lease.tenure().clone();
        let within = client.default_wait();
        let lets_readers_in = stake.is_some_and(Stake::was_last) && Arc::strong_count(&lease) > 1;
        // On the client's thread, where it goes on whatever becomes of the caller.
        let answer = if lets_readers_in {
            client.worker().call(within, let_readers_in(lease)).await
        } else {
            match Arc::into_inner(lease) {
                Some(lease) => client.worker().call(within, lease.release()).await,
                None => return tenure.check(),
            }
        };
        drop(place);
        match answer {
            Ok(outcome) => outcome,
            Err(Unanswered::InTime) => {
                let path = tenure.path().relative().to_owned();
                Err(LockError::Timeout { path, waited: within, phase: Phase::Releasing })
            }
            Err(Unanswered::Ended) => Err(tenure.lost_error(tenure.lose(LossReason::SessionEnded))),
        }
    }

    /// A hold for reading inside of this one, which is for writing.
    pub(crate) async fn enter_to_read(&self, patience: Patience) -> Result<Self, LockError> {
        let child = (self.child.clone(), Again::Shared);
        let permit = turn_of(&self.client, self.tenure().path(), child, patience).await?;
        // It goes on in the place of this one, for those who listen too.
        Ok(Self { end: self.end.clone(), ..self.enter_again(Entry::Read, permit) })
    }

    fn first(client: &Client, entry: Entry, lease: Lease) -> Self {
        let lease = Arc::new(lease);
        let stake = (entry == Entry::Write).then(|| Stake::first(&lease));
        let (client, child) = (client.clone(), free());
        Self { client, entry, lease, stake, child, place: None, end: OnceLock::new() }
    }

    fn enter_again(&self, entry: Entry, permit: OwnedSemaphorePermit) -> Self {
        let place = Place { _permit: permit, _outer: self.place.clone() };
        Self {
            client: self.client.clone(),
            entry,
            lease: self.lease.clone(),
            stake: self.stake.as_ref().filter(|_| entry == Entry::Write).cloned(),
            child: free(),
            place: Some(Arc::new(place)),
            end: OnceLock::new(),
        }
    }
}

/// Downgrades what a last writer shares with readers. Should they have ended meanwhile, it is released instead: of
/// holds that end at one time exactly one finds itself the last.
async fn let_readers_in(lease: Arc<Lease>) -> Result<(), LockError> {
    let downgraded = lease.downgrade().await;
    match Arc::into_inner(lease) {
        Some(lease) => lease.release().await,
        None => downgraded,
    }
}

fn free() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(Again::Alone.permits() as usize))
}
