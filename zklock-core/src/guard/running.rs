//! Runs a body under a lock, and takes no step of it without the lock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

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
        run_while(|| self.check(), || self.lost(), self.scope(future))
    }

    /// Does the same as [`run`](Self::run) for a caller that polls the future at once, such as generated code.
    #[doc(hidden)]
    #[inline]
    pub fn run_at_once<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F, K> {
        hold::run_at_once(&self.holds, future)
    }

    /// Runs a body as [`run_at_once`](Self::run_at_once) does, and then releases the lock as [`finish`](Self::finish) does.
    #[doc(hidden)]
    #[inline]
    pub fn run_and_finish<F: Future>(
        self,
        body: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<F, K> {
        hold::run_and_finish(self.into_holds(), body)
    }

    /// Runs a future to its end, even if the lock is lost meanwhile. Inside, this lock can be entered again.
    ///
    /// This is for work that must not be dropped halfway. After a loss, another client may hold the lock
    /// while the future still runs: the future can learn of the loss from [`lost`](Self::lost), and guarded
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
        // Boxed, because the future of the block would have two places for it.
        let future = Box::pin(self.scope(future));
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

/// Runs a future as long as `check` passes.
///
/// The check is made before each poll of the future and after its last one. `wake` returns a future that wakes the task
/// when the outcome of the check may have changed. It is called if the future waits.
pub(crate) fn run_while<C, W, L, F>(check: C, wake: W, future: F) -> Running<C, W, L, F>
where
    C: Fn() -> Result<(), LockError>,
    W: FnMut() -> L,
    L: Future,
    F: Future,
{
    Running { check, wake, watch: Watch::NotYet, future: Some(future) }
}

pin_project! {
    /// A future that runs as long as a check passes. It is a type of its own because the future of an async function
    /// would have two places for the inner one, so that those of nested calls would multiply in size.
    pub(crate) struct Running<C, W, L, F> {
        check: C,
        wake: W,
        watch: Watch<L>,
        // `None` once it has ended or was dropped.
        #[pin]
        future: Option<F>,
    }
}

/// The future that wakes the task of a body. It is boxed, and made only for a body that waits.
enum Watch<L> {
    NotYet,
    Watching(Pin<Box<L>>),
    Woken,
}

impl<C, W, L, F> Future for Running<C, W, L, F>
where
    C: Fn() -> Result<(), LockError>,
    W: FnMut() -> L,
    L: Future,
    F: Future,
{
    type Output = Result<F::Output, LockError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.as_mut().step(context));
        self.project().future.set(None);
        Poll::Ready(outcome)
    }
}

impl<C, W, L, F> Running<C, W, L, F>
where
    C: Fn() -> Result<(), LockError>,
    W: FnMut() -> L,
    L: Future,
    F: Future,
{
    fn step(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<F::Output, LockError>> {
        let this = self.project();
        (this.check)()?;
        let future = this.future.as_pin_mut().expect("a future is not polled after its end");
        if let Poll::Ready(value) = future.poll(context) {
            return Poll::Ready((this.check)().map(|()| value));
        }
        // A future that ends at once needs nobody to wake its task.
        if let Watch::NotYet = this.watch {
            *this.watch = Watch::Watching(Box::pin((this.wake)()));
        }
        if let Watch::Watching(watch) = this.watch {
            ready!(watch.as_mut().poll(context));
            *this.watch = Watch::Woken;
            (this.check)()?;
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::Waker;

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
        let mut run = pin!(run_while(check, pending::<()>, body));
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
        let mut run = pin!(run_while(check, pending::<()>, body));
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
        let run = pin!(run_while(check, pending::<()>, async { is_held.set(false) }));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
    }
}
