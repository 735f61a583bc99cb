//! One holder's part of a lock: its share of the lease, and the duty to give it back.

use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::error::LockError;
use crate::lease::{Claim, Lease, Share};
use crate::token::FencingToken;

use super::held::NodeId;

/// One holder's part of a held lock. Dropping it gives the lock back in the background.
pub(crate) struct Grant {
    /// The holder's claim. `None` once the lock has been given back.
    claim: Option<Claim>,
    share: Arc<Share>,
    /// The local queue to which the lock is given back.
    queue: Arc<dyn GiveBack>,
    node: NodeId,
}

/// The grants of one call, mostly one. Each is shared by the holds of its lock.
pub(crate) type Grants = Vec<Arc<Grant>>;

/// A local queue, as far as a grant uses it.
pub(super) trait GiveBack: Send + Sync {
    /// Handles the end of a grant. Returns whether other readers may still have the lock.
    fn give_back(self: Arc<Self>, node: NodeId) -> bool;

    /// Lets readers join the holder of this node, because a downgrade has been ordered.
    fn downgraded(self: Arc<Self>, node: NodeId);
}

impl Grant {
    /// Returns the grant of a lease to a holder that comes after this many others.
    pub(super) fn new(claim: Claim, handoff: u32, (queue, node): (Arc<dyn GiveBack>, NodeId)) -> Arc<Self> {
        let share = Arc::new(Share::new(claim.lease(), handoff));
        Arc::new(Self { claim: Some(claim), share, queue, node })
    }

    /// Returns the holder's share of the lease.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.share.token()
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        self.share.lease()
    }

    /// Gives the lock back, in this thread and without a request if another call waits for it. If none does, it is released in
    /// a moment.
    pub(crate) fn give_back(mut self) -> Release {
        let is_shared = self.take_back();
        Release { share: self.share.clone(), is_shared }
    }

    /// Undoes a grant that did not reach its holder, and leaves it to the caller to tell the line.
    pub(super) fn undelivered(grant: Arc<Self>) {
        // It has no other holder.
        if let Some(mut grant) = Arc::into_inner(grant) {
            grant.claim = None;
        }
    }

    /// Orders that readers may share the lock. The returned future waits until the server has applied it, or the lock is
    /// lost. Nobody has to poll it.
    pub(crate) fn downgrade(&self) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        if !self.lease().is_forked() {
            self.queue.clone().downgraded(self.node);
        }
        self.lease().downgrade()
    }

    /// Gives the lock back, unless that was done. Returns whether other readers still have it.
    fn take_back(&mut self) -> bool {
        let Some(claim) = self.claim.take() else { return false };
        if self.lease().is_forked() {
            // The lock is left to the process from which this one was forked.
            mem::forget(claim);
            return false;
        }
        self.share.end();
        // The line gives its claim up behind this one, and so orders the release before it wakes its task, which
        // may create another node.
        drop(claim);
        let is_kept = self.lease().is_claimed();
        let is_shared = is_kept && self.queue.clone().give_back(self.node) && self.lease().is_claimed();
        if is_shared {
            self.share.report_release();
        }
        is_shared
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.take_back();
    }
}

/// The end of a grant.
#[must_use = "the release may have to be awaited"]
pub(crate) struct Release {
    share: Arc<Share>,
    /// Whether other readers still have the lock.
    is_shared: bool,
}

impl Release {
    /// Returns the outcome, or `None` if it has to be awaited.
    pub(crate) fn outcome(&self) -> Option<Result<(), LockError>> {
        let lease = self.share.lease();
        if let Err(forked) = lease.check_process() {
            return Some(Err(forked));
        }
        self.share.outcome().or_else(|| self.is_shared.then(|| lease.check()))
    }

    /// Waits until the lock is passed on, or its node is deleted.
    pub(crate) async fn done(self) -> Result<(), LockError> {
        match self.outcome() {
            Some(outcome) => outcome,
            None => self.share.released().await,
        }
    }

    /// Waits until the request that releases the lock has been handed to the connection, unless others have the
    /// lock. If the connection is broken, this does not wait for it.
    pub(crate) async fn handed_over(self) {
        if self.outcome().is_none() {
            self.share.handed_over().await;
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("share", &self.share).field("node", &self.node).finish_non_exhaustive()
    }
}
