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
pub(super) struct Desk<C>(Mutex<Whereabouts<C>>);

/// The place of the contender.
enum Whereabouts<C> {
    /// It rests here.
    Here(C),
    /// A task performs orders with it, and looks for the next one.
    AtWork(Pending),
    /// It performs no orders any more.
    Gone,
}

/// The orders that the task has not taken yet.
#[derive(Default)]
struct Pending {
    /// `None` for most tasks, which only withdraw the contender in the end.
    orders: Option<Box<Orders>>,
    is_without_holder: bool,
}

#[derive(Default)]
struct Orders(VecDeque<Order>);

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
        Self(Mutex::new(Whereabouts::Here(contender)))
    }

    /// Leaves an order. Returns the contender if the caller has to make a task for it. Fails if it performs none any
    /// more.
    pub(super) fn order(&self, order: Order) -> Result<Option<C>, Order> {
        let mut place = self.place();
        let (contender, pending) = place.go_to_work();
        match pending {
            Some(pending) => pending.orders.get_or_insert_default().0.push_back(order),
            None => return Err(order),
        }
        Ok(contender)
    }

    /// Takes note that the last holder is gone. Returns the contender if the caller has to make a task for it.
    pub(super) fn abandon(&self) -> Option<C> {
        let mut place = self.place();
        let (contender, pending) = place.go_to_work();
        pending?.is_without_holder = true;
        contender
    }

    /// Returns the next work for a contender. If there is none, `rest` brings it here.
    pub(super) fn next<S>(&self, contender: S, rest: impl FnOnce(S) -> C) -> Work<S> {
        let mut place = self.place();
        if let Whereabouts::AtWork(Pending { orders: Some(orders), .. }) = &mut *place
            && let Some(order) = orders.0.pop_front()
        {
            return Work::Order(order, contender);
        }
        match &*place {
            Whereabouts::AtWork(Pending { is_without_holder: true, .. }) => Work::Leave(contender),
            Whereabouts::AtWork(_) | Whereabouts::Here(_) | Whereabouts::Gone => {
                *place = Whereabouts::Here(rest(contender));
                Work::None
            }
        }
    }

    /// Takes note that there is no contender any more. Those that wait for reports learn it.
    pub(super) fn close(&self) {
        let before = std::mem::replace(&mut *self.place(), Whereabouts::Gone);
        drop(before);
    }

    /// Does something with the contender while it rests.
    pub(super) fn at_rest<T>(&self, action: impl FnOnce(&mut C) -> T) -> Option<T> {
        // The caller may have a lock of its own, so that no schedule may switch tasks here.
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Whereabouts::Here(contender) => Some(action(contender)),
            Whereabouts::AtWork(_) | Whereabouts::Gone => None,
        }
    }

    fn place(&self) -> MutexGuard<'_, Whereabouts<C>> {
        interleaving::point();
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Whereabouts<C> {
    /// Returns the contender if it rested until now, and the orders of the task that has it.
    fn go_to_work(&mut self) -> (Option<C>, Option<&mut Pending>) {
        let contender = match std::mem::replace(self, Self::AtWork(Pending::default())) {
            Self::Here(contender) => Some(contender),
            before @ (Self::AtWork(_) | Self::Gone) => {
                *self = before;
                None
            }
        };
        match self {
            Self::AtWork(pending) => (contender, Some(pending)),
            Self::Here(_) | Self::Gone => (contender, None),
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
