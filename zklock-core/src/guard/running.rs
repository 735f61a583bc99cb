//! Runs a body under a lock, and no step of it without the lock.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::error::LockError;

/// Runs a future as long as `check` passes, which is asked before and after each of its steps; `woken` wakes
/// it up when the answer may have changed.
pub(crate) async fn run_while<T, L>(
    check: impl Fn() -> Result<(), LockError>,
    woken: impl Future<Output = L>,
    future: impl Future<Output = T>,
) -> Result<T, LockError> {
    let (mut woken, mut future) = (pin!(woken), pin!(future));
    let mut is_woken = false;
    poll_fn(|context| {
        is_woken = is_woken || woken.as_mut().poll(context).is_ready();
        if let Err(error) = check() {
            return Poll::Ready(Err(error));
        }
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(check().map(|()| value)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::task::{Context, Waker};

    use super::*;
    use crate::lease::LossReason;

    fn lost() -> LockError {
        LockError::Lost { path: "/a".into(), reason: LossReason::LeaseExpired }
    }

    #[test]
    fn a_body_takes_no_step_once_the_clock_ran_out_although_nobody_told_it() {
        let (is_held, steps) = (Cell::new(true), Cell::new(0));
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let body = poll_fn(|_| {
            steps.set(steps.get() + 1);
            Poll::<()>::Pending
        });
        let mut run = pin!(run_while(check, pending::<()>(), body));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(matches!(run.as_mut().poll(&mut context), Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!(steps.get(), 1);
    }

    #[test]
    fn a_body_that_ends_in_the_step_that_lost_the_lock_is_no_success() {
        let is_held = Cell::new(true);
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let run = pin!(run_while(check, pending::<()>(), async { is_held.set(false) }));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
    }
}
