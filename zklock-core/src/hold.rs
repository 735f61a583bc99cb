//! Reentrancy: the entries of one logical call into its locks.
//!
//! Holds belong to the logical call rather than to a thread or a task: a [scope](mod@scope) carries them along with the body
//! that runs under the lock. Inside that body, the same lock is entered again without a request.
//!
//! ```text
//!  Guard ─ owns ─► Hold ─► Entry ◄─ refers to ─ Scope of the body (does not keep the lock)
//!                           │ alive: until the hold ends
//!                           ├─► Owner        one per grant: counts its holds and writers
//!                           └─► ChildPermit  a permit of the gate of each entry around it that had not ended
//! ```
//!
//! Below, a *grant* is what an acquisition yields. The lock is given back by the last hold of its grant.
//! A *lease* is what the client knows of the node that it holds, above all whether it is lost. Several grants can use one
//! lease: one after the other, or together if they read. A *share* is one grant's part of a lease.
//!
//! An entry admits one child at a time, or several children that read, so that siblings, such as the two sides of a `join!`,
//! exclude each other. Holds end in any order. The last one gives the lock back. If the last one that writes ends before
//! others that read, the lock is downgraded. A child that outlives the entries around it still excludes their other
//! children, because it shares their permits.
//!
//! * [`owner`]: how many holds and writers a lock has.
//! * [`lock_ref`]: a lock, the way to enter it, and the meaning of an entry inside of another one.
//! * [`mod@scope`]: the locks and terms around the present call.
//! * [`mod@enter`]: enters a lock, again or by an acquisition.
//! * [`release`]: ends holds, and waits for the servers.
//!
//! # Invariants
//!
//! 1. Nested mutexes are locked in this order: that of an entry, those of the entries around it, and that of the owner. No
//!    wake-up, send or code of users runs under one of them.
//! 2. The downgrade is ordered while the hold of the last writer counts, so that the lock cannot pass to another call
//!    before.
//! 3. The grant is given back before the client is dropped: the end of the last client ends the session, whose locks are lost.

mod enter;
mod lock_ref;
mod owner;
mod release;
mod scope;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::change::{Mutex, Signal};
use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::events::HoldSpan;
use crate::lease::{Lease, LeaseState, Share};
use crate::local_queue::Grant;
use crate::token::FencingToken;

use self::lock_ref::GATE_PERMITS;
use self::owner::{Downgrade, Owner, Remaining};
use self::release::End;

pub(crate) use self::enter::enter;
pub(crate) use self::lock_ref::{Access, LockRef, UNNAMED};
pub(crate) use self::release::{begin_release, downgraded, finish, give_up, released};
#[cfg(test)]
pub(crate) use self::scope::length;
pub(crate) use self::scope::{Part, Parts, at_once, held, parts, scope, scope_in_term};
pub use self::scope::{inherit, inherit_blocking};

/// One entry into a lock, as its guard has it. Dropping it ends the entry.
pub(crate) struct Hold(Arc<Entry>);

/// One entry into a lock, as the calls inside of it find it.
pub(crate) struct Entry {
    access: Access,
    /// The part of this lock in the lease, which the entries inside have, too.
    share: Arc<Share>,
    /// Admits the entries inside of this one: either one, or several that read. Made for the first of them.
    gate: OnceLock<Arc<Semaphore>>,
    /// Signals that the entry has ended.
    ended: Signal,
    /// `None` once the entry has ended.
    alive: Mutex<Option<Alive>>,
}

/// The part of an entry that ends with it.
struct Alive {
    owner: Arc<Owner>,
    /// The permits of this entry and of those around it, which the entries inside share.
    permits: Box<[Arc<ChildPermit>]>,
    span: Option<Arc<HoldSpan>>,
}

/// The permit of an entry that is inside of another one. It keeps that one's other children out until the last entry that
/// shares it has ended, even if its own entry has ended before.
struct ChildPermit {
    outer: Arc<Entry>,
    _permit: OwnedSemaphorePermit,
}

impl Hold {
    /// Returns the first entry into a lock.
    fn first(client: &Client, access: Access, grant: Arc<Grant>, span: Option<Arc<HoldSpan>>) -> Self {
        let share = grant.share().clone();
        let owner = Arc::new(Owner::new(client.clone(), access, grant));
        Self::new(access, share, Alive { owner, permits: Box::default(), span })
    }

    fn new(access: Access, share: Arc<Share>, alive: Alive) -> Self {
        let (gate, ended) = (OnceLock::new(), Signal::default());
        Self(Arc::new(Entry { access, share, gate, ended, alive: Mutex::new(Some(alive)) }))
    }

    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.0
    }

    /// Returns this holder's share of the lease.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.0.share
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        self.0.lease()
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.share().token()
    }

    pub(crate) fn client(&self) -> Client {
        self.0.alive.lock().as_ref().expect("a hold that has ended is not used").owner.client().clone()
    }

    fn span(&self) -> Option<Arc<HoldSpan>> {
        self.0.alive.lock().as_ref()?.span.clone()
    }

    /// Ends the entry, and gives the lock back if this was its last hold. Returns `None` if the entry has ended before.
    fn end(&self) -> Option<End> {
        let Alive { owner, permits, span } = self.0.end()?;
        // Noted now, because later holders may lose the lease, too.
        if let (Some(span), Some(reason)) = (&span, self.lease().loss()) {
            span.note(&self.lease().lost_error(reason));
        }
        let remaining = owner.remove_hold(self.0.access);
        // A sibling that waits for this entry does not wait for the servers.
        drop(permits);
        Some(End { remaining, share: self.share().clone(), span, _owner: owner })
    }

    /// Makes this hold, which writes, one that reads. It gets an entry of its own: scopes inside of the writer refer to the
    /// old one, which ends.
    fn become_reader(&mut self) -> Option<Downgrade> {
        let Alive { owner, permits, span } = self.0.end()?;
        // Counted first, so that the lock has a reader and is not given back.
        owner.add_hold(Access::Read);
        let remaining = owner.remove_hold(Access::Write);
        *self = Self::new(Access::Read, self.share().clone(), Alive { owner, permits, span });
        match remaining {
            Remaining::Readers(downgrade) => Some(downgrade),
            // `Nobody` cannot be, because the new reader counts.
            Remaining::Others | Remaining::Nobody => None,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl Entry {
    pub(crate) fn lease(&self) -> &Arc<Lease> {
        self.share.lease()
    }

    fn gate(&self) -> &Arc<Semaphore> {
        self.gate.get_or_init(|| Arc::new(Semaphore::new(GATE_PERMITS as usize)))
    }

    /// Returns whether this client has the lock by this entry, which has not ended.
    fn is_of(&self, client: &Client) -> bool {
        self.alive.lock().as_ref().is_some_and(|alive| alive.owner.client().is_same(client))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.alive.lock().is_none()
    }

    fn end(&self) -> Option<Alive> {
        let alive = self.alive.lock().take();
        self.ended.notify();
        alive
    }

    /// Returns the hold of a new entry inside of this one, which keeps the permit; or `None` if this entry has ended.
    fn join(self: &Arc<Self>, access: Access, permit: OwnedSemaphorePermit) -> Option<Hold> {
        // Until it is unlocked, this entry cannot end, so the lock is held.
        let alive = self.alive.lock();
        let Alive { owner, permits, span } = alive.as_ref()?;
        // Lengthens this step, so that other threads take theirs meanwhile.
        #[cfg(test)]
        std::thread::sleep(std::time::Duration::from_micros(1));
        owner.add_hold(access);
        // An entry that has ended cannot be entered, so a permit of it is of no use.
        let around = permits.iter().filter(|permit| !permit.outer.is_over()).cloned();
        let own = Arc::new(ChildPermit { outer: self.clone(), _permit: permit });
        let permits = around.chain([own]).collect();
        let alive = Alive { owner: owner.clone(), permits, span: span.clone() };
        Some(Hold::new(access, self.share.clone(), alive))
    }
}

impl Part for Entry {
    fn share(&self) -> &Arc<Share> {
        &self.share
    }

    fn worker(&self) -> Option<Arc<Worker>> {
        self.alive.lock().as_ref().map(|alive| alive.owner.client().worker().clone())
    }

    fn check(&self) -> Result<(), LockError> {
        match self.is_over() {
            true => Err(self.lease().lost_error(LossReason::Resigned)),
            false => self.share.check(),
        }
    }

    fn is_held(&self) -> bool {
        self.check().is_ok() && self.lease().state() == LeaseState::Held
    }

    fn lost(&self) -> BoxFuture<'_, LossReason> {
        Box::pin(async {
            let reason = tokio::select! {
                biased;
                reason = self.ended.until(|| self.is_over().then_some(LossReason::Resigned)) => reason,
                reason = self.lease().lost() => reason,
            };
            // The loss may be that of a later holder.
            if self.is_over() { LossReason::Resigned } else { reason }
        })
    }
}
