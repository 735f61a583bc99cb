//! The proof that a contender is at the head of its queue, and the signal that it no longer is.
//!
//! A lease is not a time-to-live: it lasts until it is released or lost. It is lost forever when its
//! node is gone or belongs to another session, when the session ended, or when the lease clock ran out
//! (see `session::clock`). The clock runs out before the servers may give the lock to another client.
//!
//! Uses the layers below: `session`, `queue`, `events`, `path`, `token`, `error`, `tasks` and `interleaving`.

mod doubt;
mod holders;
mod keeper;
mod orders;
mod permit;
mod present;
mod readiness;
mod seat;
mod share;
mod state;
mod tenure;
pub(crate) mod writes;

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::error::{LockError, LossReason};
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::tasks::Tasks;

use self::orders::{Order, Report};

pub(crate) use self::permit::WritePermit;
pub(crate) use self::readiness::Readiness;
pub(crate) use self::seat::Seat;
pub(crate) use self::share::{Share, Stint};
pub(crate) use self::tenure::Tenure;

pub use self::state::LeaseState;

/// The proof of a held lock, and a claim to it. The end of the last claim withdraws the contender in the background.
#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once the claim has ended.
    claim: Option<Arc<Tenure>>,
}

impl Lease {
    /// Starts the lease of a node that was seen at the head of its queue. Must run on the client's runtime.
    pub(crate) fn begin(seat: impl Seat + 'static, path: NodePath, node: &Node, tasks: &Tasks) -> Self {
        let tenure = Arc::new(Tenure::begin(&seat, path, node, tasks));
        keeper::start(seat, tenure.clone());
        Self { claim: Some(tenure) }
    }

    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        self.claim.as_ref().expect("a claim that has ended is not used")
    }

    /// Returns whether this claim has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.claim.is_none()
    }

    /// Leaves the lock to the process from which this one was forked.
    pub(crate) fn leave_to_parent(&mut self) {
        std::mem::forget(self.claim.take());
    }

    /// Ends this claim, and returns whether it was the last one. The contender is withdrawn in the background then.
    pub(crate) fn end(&mut self) -> bool {
        let Some(tenure) = self.claim.take() else { return false };
        let is_last = tenure.end_claim();
        if is_last {
            tenure.abandon();
        }
        is_last
    }

    /// Withdraws the contender and waits until it is gone.
    pub(crate) async fn release(&self) -> Result<(), LockError> {
        self.order(Order::Release).await
    }

    /// Orders that readers may share the lock. The returned future waits until the server has applied it or the lock is lost.
    /// After a loss it may take long until the servers report the outcome, so this does not wait for it.
    pub(crate) fn downgrade(&self) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        let (ordered, tenure) = (self.order(Order::Downgrade), self.tenure().clone());
        async move {
            tokio::select! {
                biased;
                outcome = ordered => outcome,
                reason = tenure.lost() => Err(tenure.lost_error(reason)),
            }
        }
    }

    /// Orders something, and returns the wait for its outcome.
    fn order(
        &self,
        order: fn(Report) -> Order,
    ) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        let tenure = self.tenure().clone();
        let (report, outcome) = oneshot::channel();
        let ordered = tenure.orders.push(order(report)).map_err(drop);
        async move {
            let lost = |reason| tenure.lost_error(reason);
            match ordered {
                Ok(()) => outcome.await.unwrap_or_else(|_| Err(lost(LossReason::SessionEnded))),
                Err(()) => Err(lost(tenure.loss().unwrap_or(LossReason::SessionEnded))),
            }
        }
    }
}

impl Clone for Lease {
    /// Returns one more claim.
    fn clone(&self) -> Self {
        self.tenure().claim();
        Self { claim: self.claim.clone() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}
