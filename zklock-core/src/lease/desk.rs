//! The orders of the holders of a lease, and the contender that performs them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::LockError;
use crate::interleaving;

/// An order of a holder. The outcome is reported if the caller still waits for it.
#[derive(Debug)]
pub(super) enum Order {
    Downgrade(Report),
    Release(Report),
}

pub(super) type Report = oneshot::Sender<Result<(), LockError>>;

/// The place where holders leave orders for the contender behind their lease, `C`.
pub(super) struct Desk<C> {
    state: Mutex<State<C>>,
}

struct State<C> {
    orders: VecDeque<Order>,
    is_without_holder: bool,
    contender: Whereabouts<C>,
}

/// The place of the contender.
enum Whereabouts<C> {
    /// It rests here.
    Here(C),
    /// A task performs orders with it, and looks for the next one.
    AtWork,
    /// It performs no orders any more.
    Gone,
}

/// The next work of the task that has the contender.
pub(super) enum Work<S> {
    Order(Order, S),
    /// The last holder is gone.
    Leave(S),
    /// There is none, and the contender rests.
    None,
}

impl<C> Desk<C> {
    pub(super) fn new(contender: C) -> Self {
        let contender = Whereabouts::Here(contender);
        Self { state: Mutex::new(State { orders: VecDeque::new(), is_without_holder: false, contender }) }
    }

    /// Leaves an order. Returns the contender if the caller has to make a task for it. Fails if it performs none any
    /// more.
    pub(super) fn order(&self, order: Order) -> Result<Option<C>, Order> {
        let mut state = self.state();
        if let Whereabouts::Gone = state.contender {
            return Err(order);
        }
        state.orders.push_back(order);
        Ok(state.go_to_work())
    }

    /// Takes note that the last holder is gone. Returns the contender if the caller has to make a task for it.
    pub(super) fn abandon(&self) -> Option<C> {
        let mut state = self.state();
        state.is_without_holder = true;
        state.go_to_work()
    }

    /// Returns the next work for a contender. If there is none, `rest` brings it here.
    pub(super) fn next<S>(&self, contender: S, rest: impl FnOnce(S) -> C) -> Work<S> {
        let mut state = self.state();
        match state.orders.pop_front() {
            Some(order) => Work::Order(order, contender),
            None if state.is_without_holder => Work::Leave(contender),
            None => {
                state.contender = Whereabouts::Here(rest(contender));
                Work::None
            }
        }
    }

    /// Takes note that there is no contender any more. Those that wait for reports learn it.
    pub(super) fn close(&self) {
        let mut state = self.state();
        let contender = std::mem::replace(&mut state.contender, Whereabouts::Gone);
        let orders = std::mem::take(&mut state.orders);
        drop(state);
        drop((contender, orders));
    }

    /// Does something with the contender while it rests.
    pub(super) fn at_rest<T>(&self, action: impl FnOnce(&mut C) -> T) -> Option<T> {
        // The caller may have a lock of its own, so that no schedule may switch tasks here.
        match &mut self.state.lock().unwrap_or_else(PoisonError::into_inner).contender {
            Whereabouts::Here(contender) => Some(action(contender)),
            Whereabouts::AtWork | Whereabouts::Gone => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        interleaving::point();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> State<C> {
    fn go_to_work(&mut self) -> Option<C> {
        match std::mem::replace(&mut self.contender, Whereabouts::AtWork) {
            Whereabouts::Here(contender) => Some(contender),
            Whereabouts::AtWork => None,
            Whereabouts::Gone => {
                self.contender = Whereabouts::Gone;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> (Order, oneshot::Receiver<Result<(), LockError>>) {
        let (report, outcome) = oneshot::channel();
        (Order::Release(report), outcome)
    }

    fn next(desk: &Desk<()>) -> Work<()> {
        desk.next((), |()| ())
    }

    #[test]
    fn one_task_performs_all_orders_and_then_the_end_of_the_holders() {
        let desk = Desk::new(());
        assert_eq!(desk.order(release().0).unwrap(), Some(()));
        assert_eq!(desk.order(release().0).unwrap(), None);
        assert_eq!(desk.abandon(), None);
        assert!(matches!(next(&desk), Work::Order(..)));
        assert!(matches!(next(&desk), Work::Order(..)));
        assert!(matches!(next(&desk), Work::Leave(())));
    }

    #[test]
    fn a_contender_that_rests_goes_to_work_again_with_the_next_order() {
        let desk = Desk::new(());
        assert_eq!(desk.order(release().0).unwrap(), Some(()));
        assert_eq!(desk.at_rest(|()| ()), None);
        assert!(matches!(next(&desk), Work::Order(..)));
        assert!(matches!(next(&desk), Work::None));
        assert_eq!(desk.at_rest(|()| ()), Some(()));
        assert_eq!(desk.abandon(), Some(()));
    }

    #[test]
    fn a_report_that_no_contender_will_make_is_not_waited_for() {
        let desk = Desk::new(());
        let (order, mut outcome) = release();
        assert_eq!(desk.order(order).unwrap(), Some(()));
        desk.close();
        assert!(matches!(outcome.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(desk.order(release().0).is_err());
        assert_eq!(desk.abandon(), None);
    }
}
