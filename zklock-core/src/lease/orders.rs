//! The orders of the holders of a lease to its task.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::change::Signal;
use crate::error::LockError;
use crate::interleaving;

/// An order of a holder. The outcome is reported if the caller still waits for it.
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
