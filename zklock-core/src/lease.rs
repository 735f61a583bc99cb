//! The proof that our contender is at the head of the queue, and the signal that it is not any more.
//!
//! A lease is no time-to-live: it lasts until it is released or lost. It is lost, once and for ever, when
//! its node is gone or belongs to another session, when the session ended, or when the lease clock ran
//! out (see `session::clock`), which it does before the servers may hand the lock on.

mod doubt;
mod keeper;
mod revocation;
mod revoking;
mod state;
mod tenure;

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::error::{LockError, LossReason};
use crate::events::Hub;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::session::drive::Driver;

use self::keeper::{Order, Report};

pub(crate) use self::revocation::REVOKE;
pub(crate) use self::revoking::watch as watch_revocation;
pub(crate) use self::tenure::Tenure;

pub use self::state::LeaseState;

/// A held lock; dropping it withdraws the contender in the background.
#[derive(Debug)]
pub(crate) struct Lease {
    tenure: Arc<Tenure>,
    /// The keeper withdraws when it is dropped.
    orders: mpsc::UnboundedSender<Order>,
}

impl Lease {
    /// Starts the tenure of a node that was seen at the head; must run on the client's runtime.
    ///
    /// Returns what keeps it, to be spawned by the caller.
    pub(crate) fn begin(
        driver: Driver,
        path: NodePath,
        node: Node,
        events: Hub,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let tenure = Arc::new(Tenure::begin(&driver, path, &node, events));
        let (orders, received) = mpsc::unbounded_channel();
        let keeper = keeper::keep(tenure.clone(), driver, received);
        (Self { tenure, orders }, keeper)
    }

    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        &self.tenure
    }

    /// Tells the listeners of this lease from now on, because it is what somebody wanted.
    ///
    /// A lease that only helped to take others is never spoken of.
    pub(crate) fn announce(&self) {
        self.tenure.announce();
    }

    /// Withdraws the contender and waits until it is gone.
    pub(crate) async fn release(self) -> Result<(), LockError> {
        self.order(Order::Release).await
    }

    /// Lets readers share the lock, and waits until the server has done it, or the lock is lost: it may take long
    /// then until the servers say what came of it.
    pub(crate) async fn downgrade(&self) -> Result<(), LockError> {
        tokio::select! {
            biased;
            outcome = self.order(Order::Downgrade) => outcome,
            reason = self.tenure.lost() => Err(self.tenure.lost_error(reason)),
        }
    }

    /// Lets readers share the lock, in the background.
    pub(crate) fn downgrade_later(&self) {
        self.orders.send(Order::Downgrade(oneshot::channel().0)).ok();
    }

    async fn order(&self, order: impl FnOnce(Report) -> Order) -> Result<(), LockError> {
        let lost = |reason| self.tenure.lost_error(reason);
        let (report, outcome) = oneshot::channel();
        match self.orders.send(order(report)) {
            Ok(()) => outcome.await.unwrap_or_else(|_| Err(lost(LossReason::SessionEnded))),
            Err(_) => Err(lost(self.tenure.loss().unwrap_or(LossReason::SessionEnded))),
        }
    }
}
