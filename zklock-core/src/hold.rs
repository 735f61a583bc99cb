//! Reentrancy: the tree of holds of one logical call.
//!
//! Each entry into a lock is a *hold*. Holds belong to the logical call rather than to a thread or a task:
//! a task-local scope carries them along with the future that runs under the lock. Inside that future, the
//! same lock is entered again without a request. The new hold is a child of the nearest hold of that lock.
//! A hold admits one child at a time, or several children that read:
//!
//! ```text
//!  lock()            the lease
//!   └ hold ── run ──► a() enters again     one child at a time, so that siblings, such as the two
//!                      └ hold ── … ──►     sides of a join!, exclude each other
//! ```
//!
//! A writer can enter again to read, but a reader cannot enter again to write. When the last hold for
//! writing ends while holds for reading are left, the lock is downgraded.
//!
//! Holds may end in any order, and the lease is released when the last one is dropped. A parent admits
//! the next child when the current child and all holds below it have ended. A scope does not keep a hold
//! alive: a spawned task that inherited the scope prolongs the lock only while the task has entered the
//! lock itself. Holds that have ended are forgotten, so that a function can spawn itself inside of its lock
//! any number of times.
//!
//! A term of leadership is in the same scope, so that the calls below it find it. It cannot be entered.
//!
//! Uses the floors below: `cohort`, `acquire`, `client`, `lease`, `session`, `queue`, `events`, `path`, `mode` and
//! `error`.

use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::acquire::Patience;
use crate::client::Client;
use crate::cohort::Grant;
use crate::error::LockError;
use crate::lease::{self, Share, Tenure};

use self::chain::{Chain, Ends};
use self::ending::Ending;
use self::entry::Again;
use self::spanned::Spanned;
use self::stake::Stake;
use self::waiting::turn_of;

pub(crate) use self::door::{Door, UNNAMED};
pub(crate) use self::ending::OnRevoke;
pub(crate) use self::enter::enter;
pub(crate) use self::entry::Entry;
pub(crate) use self::held::{Held, Leading};
pub(crate) use self::release::{finish_all, release_all};
#[cfg(test)]
pub(crate) use self::scope::length;
pub(crate) use self::scope::{held, scope, scope_blocking, scope_blocking_in_term, scope_in_term};
pub use self::scope::{inherit, inherit_blocking};
pub(crate) use self::waiting::confirm;

mod chain;
mod door;
mod ending;
mod enter;
mod entry;
mod held;
mod release;
mod scope;
mod spanned;
mod stake;
mod waiting;

/// One entry into a lock.
#[derive(Debug)]
pub(crate) struct Hold {
    entry: Entry,
    /// Dropped before the grant.
    span: Spanned,
    /// Dropped before the stake, so that the stake of the last hold finds nothing to downgrade.
    grant: Arc<Grant>,
    stake: Option<Stake>,
    /// Admits one child at a time, or several readers.
    child: Arc<Semaphore>,
    /// The place of this hold in its parent, and those of its ancestors: a hold may outlive the holds around
    /// it, and must still exclude their siblings.
    places: Chain<Arc<Place>>,
    /// Created on demand.
    end: OnceLock<Arc<Ending>>,
    /// Dropped after the grant, because the end of the last client ends the session: the lease is released
    /// and not lost.
    client: Client,
}

/// A hold's place in its parent.
#[derive(Debug)]
struct Place {
    _permit: OwnedSemaphorePermit,
    parent: Weak<Hold>,
}

impl Ends for Weak<Hold> {
    fn is_over(&self) -> bool {
        self.strong_count() == 0
    }
}

impl Ends for Arc<Place> {
    /// Returns `true` if the parent has ended, so that nobody can become a sibling any more.
    fn is_over(&self) -> bool {
        self.parent.is_over()
    }
}

impl Hold {
    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.grant.tenure()
    }

    /// Returns this holder's share of the lease.
    pub(crate) fn share(&self) -> &Arc<Share> {
        self.grant.share()
    }

    /// Returns a token that is cancelled when this hold ends.
    pub(crate) fn end(&self) -> CancellationToken {
        self.ending().token()
    }

    /// Keeps a callback until this hold ends.
    pub(crate) fn keep(&self, callback: &Arc<OnRevoke>) {
        self.ending().keep(callback.clone());
    }

    fn ending(&self) -> &Ending {
        self.end.get_or_init(Arc::default)
    }

    /// Starts a task that watches the node's data for a request to release, unless there is one already.
    pub(crate) fn watch_revocation(&self) {
        if self.tenure().revocation().claim() {
            self.client.worker().spawn(lease::watch_revocation(self.tenure().clone()));
        }
    }

    /// Enters this write hold again for reading.
    pub(crate) async fn enter_to_read(self: &Arc<Self>, patience: Patience) -> Result<Self, LockError> {
        let child = (self.child.clone(), Again::Shared);
        let permit = turn_of(&self.client, self.tenure().path(), child, patience).await?;
        // The new hold replaces this one, so the token of `end` is cancelled only when both have ended.
        Ok(Self { end: self.end.clone(), ..self.enter_again(Entry::Read, permit) })
    }

    fn first(client: &Client, entry: Entry, (grant, span): (Grant, Spanned)) -> Self {
        let grant = Arc::new(grant);
        let stake = (entry == Entry::Write).then(|| Stake::first(&grant));
        let (client, child) = (client.clone(), free());
        Self { entry, span, grant, stake, child, places: Chain::default(), end: OnceLock::new(), client }
    }

    fn enter_again(self: &Arc<Self>, entry: Entry, permit: OwnedSemaphorePermit) -> Self {
        let place = Place { _permit: permit, parent: Arc::downgrade(self) };
        Self {
            entry,
            span: self.span.clone(),
            grant: self.grant.clone(),
            stake: self.stake.as_ref().filter(|_| entry == Entry::Write).cloned(),
            child: free(),
            places: self.places.with(Arc::new(place)),
            end: OnceLock::new(),
            client: self.client.clone(),
        }
    }
}

fn free() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(Again::Alone.permits() as usize))
}
