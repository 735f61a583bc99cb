//! Runs a body under a lock, and takes no step of it without the lock.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::error::LockError;
use crate::hold;

use super::Guard;

impl<K> Guard<K> {
    /// Runs a future, inside which this lock can be entered again without a request.
    ///
    /// The future continues after the lock is lost; [`run`](Self::run) drops it instead.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F, K> {
        hold::scope(&self.holds, future)
    }

    /// Runs a future, inside which this lock can be entered again, and drops it if the lock is lost.
    ///
    /// The lease is checked before each poll of the future. Even after a pause of the process, no step of the
    /// future begins under a lost lock.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if a loss is known when the future ends. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`, which is dropped at its current await.
    pub fn run<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F, K> {
        let checks = (|| self.check(), || self.check_again());
        run_while(checks, self.lost(), hold::scope(&self.holds, future))
    }

    /// Runs a future to its end, even if the lock is lost meanwhile. Inside, this lock can be entered again.
    ///
    /// This is for work that must not be dropped halfway. After a loss, another client may hold the lock
    /// while the future still runs: the future can learn of the loss from [`lost`](crate::Held::lost), and guarded
    /// writes are refused. If the lock is already lost, the future is not started.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if a loss is known when the future ends. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of `future`, which is dropped at its current await. This also happens if a
    /// surrounding future is dropped, such as the body of [`run`](Self::run) under another lock that is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn migrate() {}
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/migrations")?.lock().await?;
    /// guard.run_to_end(migrate()).await?;
    /// guard.release().await
    /// # }
    /// ```
    pub fn run_to_end<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F, K> {
        let future = hold::scope(&self.holds, future);
        async move {
            self.check()?;
            let value = future.await;
            self.check().map(|()| value)
        }
    }

    /// Calls a function on the current thread. Inside, this lock can be entered again.
    ///
    /// This is [`run_to_end`](Self::run_to_end) for code that is not async: the function continues even if
    /// the lock is lost meanwhile.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if a loss is known when the function returns. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    pub fn run_blocking<T>(&self, function: impl FnOnce() -> T) -> Result<T, LockError> {
        self.check()?;
        let value = hold::scope_blocking(&self.holds, function);
        self.check().map(|()| value)
    }
}

/// Runs a future as long as `check` passes: it is called before each step, and after the last one. `lost` wakes the task when
/// the outcome of the check may have changed. The future is dropped before this returns.
pub(crate) async fn run_while<F: Future + Unpin>(
    (before, after): (impl Fn() -> Result<(), LockError>, impl Fn() -> Result<(), LockError>),
    lost: impl Future,
    mut body: F,
) -> Result<F::Output, LockError> {
    let (mut lost, mut is_told) = (pin!(lost), false);
    poll_fn(|context| {
        before()?;
        if let Poll::Ready(value) = Pin::new(&mut body).poll(context) {
            return Poll::Ready(after().map(|()| value));
        }
        if !is_told && lost.as_mut().poll(context).is_ready() {
            is_told = true;
            after()?;
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, poll_fn};
    use std::rc::Rc;
    use std::task::{Context, Waker};

    use super::*;
    use crate::error::LossReason;

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
        let mut run = pin!(run_while((check, check), pending::<()>(), Box::pin(body)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(matches!(run.as_mut().poll(&mut context), Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!(steps.get(), 1);
    }

    #[test]
    fn a_body_is_dropped_when_its_end_is_told_although_the_run_is_kept() {
        let (is_held, alive) = (Cell::new(true), Rc::new(()));
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let kept = alive.clone();
        let body = async move {
            let _kept = kept;
            pending::<()>().await;
        };
        let mut run = pin!(run_while((check, check), pending::<()>(), Box::pin(body)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(run.as_mut().poll(&mut context).is_ready());
        assert_eq!(Rc::strong_count(&alive), 1);
    }

    #[test]
    fn a_body_that_ends_in_the_step_that_lost_the_lock_is_no_success() {
        let is_held = Cell::new(true);
        let check = || if is_held.get() { Ok(()) } else { Err(lost()) };
        let run = pin!(run_while((check, check), pending::<()>(), Box::pin(async { is_held.set(false) })));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
    }
}
