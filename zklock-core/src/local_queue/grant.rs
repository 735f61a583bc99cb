//! One holder's part of a lock: its share of the lease, and the duty to give it back.

use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::error::LockError;
use crate::lease::{Claim, Share};

use super::held::NodeId;

/// One holder's part of a held lock. Dropping it gives the lock back.
pub(crate) struct Grant {
    /// The holder's claim. Taken when the lock is given back.
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
    /// Handles the end of a grant.
    fn give_back(self: Arc<Self>, node: NodeId);

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

    /// Orders that readers may share the lock. The returned future waits until the server has applied it, or the lock is
    /// lost. Nobody has to poll it.
    pub(crate) fn downgrade(&self) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        if !self.share.lease().is_forked() {
            self.queue.clone().downgraded(self.node);
        }
        self.share.lease().downgrade()
    }
}

impl Drop for Grant {
    /// Gives the lock back, in this thread and without a request if another call waits for it. If none does, it is released in a
    /// moment.
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        if self.share.lease().is_forked() {
            // The lock is left to the process from which this one was forked.
            return mem::forget(claim);
        }
        self.share.end();
        // The line gives its claim up behind this one, and so orders the release before it wakes its task, which
        // may create another node.
        drop(claim);
        self.queue.clone().give_back(self.node);
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("share", &self.share).field("node", &self.node).finish_non_exhaustive()
    }
}
