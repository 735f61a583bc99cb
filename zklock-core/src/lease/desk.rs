//! The orders of the holders of a lease to its keeper.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::change;
use crate::error::LockError;

/// An order of the holder to the keeper. The outcome is reported if the caller still waits for it.
#[derive(Debug)]
pub(super) enum Order {
    Downgrade(Report),
    Release(Report),
}

pub(super) type Report = oneshot::Sender<Result<(), LockError>>;

/// The place where a holder leaves orders, and the keeper takes them.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    orders: VecDeque<Order>,
    is_without_holder: bool,
    is_without_keeper: bool,
}

impl Desk {
    /// Leaves an order. Fails if there is no keeper any more.
    pub(super) fn order(&self, order: Order) -> Result<(), Order> {
        let mut state = self.state();
        if state.is_without_keeper {
            return Err(order);
        }
        state.orders.push_back(order);
        drop(state);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Takes note that the last holder is gone.
    pub(super) fn abandon(&self) {
        self.state().is_without_holder = true;
        self.changed.notify_waiters();
    }

    /// Takes note that the keeper is gone. Those that wait for reports learn it.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_without_keeper = true;
        let orders = std::mem::take(&mut state.orders);
        drop(state);
        drop(orders);
    }

    /// Waits for the next order. Returns `None` if there is none, and the last holder is gone.
    ///
    /// Dropping the future loses no order.
    pub(super) async fn next(&self) -> Option<Order> {
        change::until(&self.changed, || {
            let mut state = self.state();
            let next = state.orders.pop_front();
            (next.is_some() || state.is_without_holder).then_some(next)
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn orders_come_before_the_end_of_the_holder() {
        let desk = Desk::default();
        assert!(desk.next().now_or_never().is_none());
        desk.order(Order::Release(oneshot::channel().0)).unwrap();
        desk.abandon();
        assert!(matches!(desk.next().await, Some(Order::Release(_))));
        assert!(desk.next().await.is_none());
    }

    #[tokio::test]
    async fn a_report_that_no_keeper_will_make_is_not_waited_for() {
        let (desk, (report, outcome)) = (Desk::default(), oneshot::channel());
        desk.order(Order::Downgrade(report)).unwrap();
        desk.close();
        assert!(outcome.await.is_err());
        assert!(desk.order(Order::Release(oneshot::channel().0)).is_err());
    }
}
