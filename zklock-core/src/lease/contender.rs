//! The contender behind a lease, and the orders to the task that owns it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::change::Signal;
use crate::error::{LockError, LossReason};
use crate::path::NodePath;
use crate::queue::acquisition::{End, Node};
use crate::session::Session;
use crate::session::drive::{Driver, Undone};
use crate::session::own_node::OwnNode;

/// The contender behind a lease, as the task of its node uses it.
pub(crate) trait Contender: Send + Sized {
    fn session(&self) -> &Arc<Session>;

    /// Returns the path of the queue.
    fn queue(&self) -> &NodePath;

    /// Returns what is known of the contender's node.
    fn own_node(&self) -> &Arc<OwnNode>;

    /// Begins to watch the node that was seen at the head of its queue.
    fn begin_watch(&self);

    /// Resolves when the own node, at this path, is gone or belongs to another session.
    fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + Send + use<Self>;

    /// Replaces the writer's node with a reader's node, and returns the reader's node.
    fn downgrade(&mut self) -> impl Future<Output = Result<Node, Undone>> + Send;

    /// Withdraws the contender. Returns once it is gone, its session has ended, or the server refuses to delete it.
    fn withdraw(&mut self) -> impl Future<Output = End> + Send;

    /// Takes the error of a request that the server refused, if there was one.
    fn refusal(&mut self) -> Option<LockError>;
}

impl Contender for Driver {
    fn session(&self) -> &Arc<Session> {
        self.session()
    }

    fn queue(&self) -> &NodePath {
        self.path()
    }

    fn own_node(&self) -> &Arc<OwnNode> {
        self.own_node()
    }

    fn begin_watch(&self) {
        self.begin_watch();
    }

    fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + Send + use<> {
        self.own_node_gone(path)
    }

    fn downgrade(&mut self) -> impl Future<Output = Result<Node, Undone>> + Send {
        self.downgrade()
    }

    fn withdraw(&mut self) -> impl Future<Output = End> + Send {
        self.withdraw()
    }

    fn refusal(&mut self) -> Option<LockError> {
        self.refusal()
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
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.pop_front()
    }

    /// Takes no order any more. Those that wait for reports learn it.
    pub(super) fn close(&self) {
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
