//! Shares in keeping a held node, and the orders to the task of the node.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::change::Signal;
use crate::error::{LockError, LossReason};
use crate::interleaving;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::tasks::Tasks;

use super::Lease;
use super::task::{self, Contender};

/// A share in keeping a held node. The end of the last claim withdraws the contender in the background.
#[derive(Debug)]
pub(crate) struct Claim {
    /// `None` once the claim has ended.
    lease: Option<Arc<Lease>>,
}

impl Claim {
    /// Starts the lease of a node that was seen at the head of its queue. Must run on the client's runtime.
    pub(crate) fn begin(
        contender: impl Contender + 'static,
        path: NodePath,
        node: &Node,
        tasks: &Tasks,
    ) -> Self {
        let lease = Arc::new(Lease::begin(&contender, path, node, tasks));
        task::start(contender, lease.clone());
        Self { lease: Some(lease) }
    }

    pub(crate) fn lease(&self) -> &Arc<Lease> {
        self.lease.as_ref().expect("a claim that has ended is not used")
    }

    /// Returns whether this claim has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.lease.is_none()
    }

    /// Leaves the lock to the process from which this one was forked.
    pub(crate) fn leave_to_parent(&mut self) {
        std::mem::forget(self.lease.take());
    }

    /// Ends this claim, and returns whether it was the last one. The contender is withdrawn in the background then.
    pub(crate) fn end(&mut self) -> bool {
        let Some(lease) = self.lease.take() else { return false };
        let is_last = lease.end_claim();
        if is_last {
            lease.abandon();
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
        let (ordered, lease) = (self.order(Order::Downgrade), self.lease().clone());
        async move {
            tokio::select! {
                biased;
                outcome = ordered => outcome,
                reason = lease.lost() => Err(lease.lost_error(reason)),
            }
        }
    }

    /// Orders something, and returns the wait for its outcome.
    fn order(
        &self,
        order: fn(Report) -> Order,
    ) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        let lease = self.lease().clone();
        let (report, outcome) = oneshot::channel();
        let ordered = lease.orders.push(order(report)).map_err(drop);
        async move {
            let lost = |reason| lease.lost_error(reason);
            match ordered {
                Ok(()) => outcome.await.unwrap_or_else(|_| Err(lost(LossReason::SessionEnded))),
                Err(()) => Err(lost(lease.loss().unwrap_or(LossReason::SessionEnded))),
            }
        }
    }
}

impl Clone for Claim {
    /// Returns one more claim.
    fn clone(&self) -> Self {
        self.lease().claim();
        Self { lease: self.lease.clone() }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.end();
    }
}

/// An order to the task of a node. The outcome is reported if the caller still waits for it.
#[derive(Debug)]
pub(super) enum Order {
    Downgrade(Report),
    Release(Report),
    /// Release, because the last holder is gone.
    Leave,
}

pub(super) type Report = oneshot::Sender<Result<(), LockError>>;

/// The orders that the task has not taken yet.
#[derive(Debug)]
pub(super) struct Orders {
    /// `None` once the task takes none any more.
    waiting: Mutex<Option<VecDeque<Order>>>,
    changed: Signal,
}

impl Orders {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::new(Some(VecDeque::new())), changed: Signal::default() }
    }

    /// Leaves an order. Fails if the task takes none any more.
    pub(super) fn push(&self, order: Order) -> Result<(), Order> {
        interleaving::point();
        match &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => waiting.push_back(order),
            None => return Err(order),
        }
        self.changed.notify();
        Ok(())
    }

    /// Waits for the next order, for the task.
    pub(super) async fn next(&self) -> Order {
        self.changed.until(|| self.pop()).await
    }

    fn pop(&self) -> Option<Order> {
        interleaving::point();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.pop_front()
    }

    /// Takes no order any more. Those that wait for reports learn it.
    pub(super) fn close(&self) {
        interleaving::point();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_no_task_will_make_is_not_waited_for() {
        let orders = Orders::new();
        let order = || {
            let (report, outcome) = oneshot::channel();
            (Order::Release(report), outcome)
        };
        let (first, mut outcome) = order();
        orders.push(first).unwrap();
        orders.close();
        assert!(matches!(outcome.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(orders.push(order().0).is_err() && orders.pop().is_none());
    }
}
