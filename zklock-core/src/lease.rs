//! What the client knows of a node that it holds, from its turn to its deletion.
//!
//! A contender that comes to the head of its queue begins a [`Lease`], and a task that owns the contender from then on.
//!
//! 1. The lease is *held* while the lease clock of its session is valid (`session::clock`) and the servers have shown the node
//!    on the present connection. It is *suspended* from the end of a connection until they show it again.
//! 2. It is *lost* forever when the node is gone or belongs to another session, when the session ended, or when the lease
//!    clock ran out, which is before the servers may give the lock to another client.
//! 3. A [`Claim`] keeps the node. The end of the last claim makes the task delete it.
//! 4. Each holder has a [`Share`]: its token, and whether it may still write. Holders come one after the other, or read
//!    together.
//! 5. A holder sends guarded writes under a [`WritePermit`]. The lock is passed on once the outcomes of all are known.
//! 6. The task ([`task`]) watches the node, replaces it for a downgrade, and deletes it. It deletes the node of a lost lease
//!    as well, but not before the holder has given it back, so that no other client has the lock while its body ends.
//!
//! A lease is not a time-to-live: it needs no renewal by its holder.
//!
//! * [`state`]: what is known of the node.
//! * [`holders`]: the holders that the listeners know of, and how far the release is.
//! * [`share`]: the part of one holder, and its right to write.
//! * [`writes`]: the guarded writes under way.
//! * [`readiness`]: whether the servers have confirmed the lease, and whether it can go to the next holder.
//!
//! # Invariants
//!
//! 1. The first loss counts, and nothing undoes it. Its holders are told once, after the state has changed.
//! 2. Listeners and wake-ups run outside of the mutexes.
//! 3. A lease whose task ends early is lost, and its release has an outcome.

mod holders;
mod readiness;
mod share;
mod state;
mod task;
pub(crate) mod writes;

use std::sync::Arc;

use crate::error::LockError;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::session::drive::Driver;

pub(crate) use self::readiness::{Look, Readiness};
pub(crate) use self::share::{Share, WritePermit};
pub(crate) use self::state::Lease;

pub use self::state::LeaseState;

/// A share in keeping a held node. The end of the last claim withdraws the contender in the background.
#[derive(Clone)]
pub(crate) struct Claim(Arc<Claimed>);

/// A lease that has claims.
struct Claimed(Arc<Lease>);

impl Claim {
    /// Starts the lease of a node that was seen at the head of its queue. Must run on the client's thread.
    pub(crate) fn begin(driver: Driver, path: NodePath, node: &Node) -> Self {
        let lease = Arc::new(Lease::begin(&driver, path, node));
        task::start(driver, lease.clone());
        Self(Arc::new(Claimed(lease)))
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        &self.0.0
    }

    /// Ends the only claim, and waits until the contender is gone.
    pub(crate) async fn release(self) -> Result<(), LockError> {
        let lease = self.lease().clone();
        drop(self);
        lease.holders.changed.until(|| lease.holders.outcome()).await
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.own_node.note(|news| news.is_given_up = true);
    }
}
