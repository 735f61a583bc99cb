//! Runs a body that begins at once, and takes no step of it without its locks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::error::LockError;
use crate::events::HoldSpan;

use super::finishing::Finishing;
use super::holder::{Holder, Lost};
use super::holds::Holds;
use super::scope::Scope;

/// Runs a body under these holds, and drops it at its next await if a lock is lost. The caller polls the future at once.
#[inline]
pub(crate) fn run_at_once<F: Future>(
    holds: &Holds,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
    Body::new(holds, body)
}

/// Runs a body as [`run_at_once`] does, and then ends the holds as [`finish`](super::finish) does.
#[inline]
pub(crate) fn run_and_finish<F: Future>(
    holds: Holds,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<F> {
    Body::new(holds, body)
}

pin_project! {
    /// A body under its locks, which end with it.
    ///
    /// It is a type of its own because the future of an async function would have two places for the body, so that those of
    /// nested calls would multiply in size.
    pub(super) struct Body<H: Holder, F: Future> {
        // `None` before the body begins, and once it has ended.
        under: Option<Under<H>>,
        #[pin]
        future: Option<F>,
        // The end of the holds, for which the value of the body waits.
        ending: Option<Box<(Finishing, F::Output)>>,
    }

    impl<H: Holder, F: Future> PinnedDrop for Body<H, F> {
        fn drop(this: Pin<&mut Self>) {
            if this.future.is_some() {
                this.stop();
            }
        }
    }
}

/// The locks of a body, its span and its scope.
struct Under<H> {
    span: Option<Arc<HoldSpan>>,
    /// `None` until the body has waited, if it can do without.
    scope: Option<Scope>,
    watch: Watch,
    holder: H,
}

/// The future that wakes the task of a body. It is made only for a body that waits.
enum Watch {
    NotYet,
    Watching(Lost),
    Woken,
}

impl<H: Holder> Under<H> {
    #[inline]
    fn new(holder: H, span: Option<Arc<HoldSpan>>) -> Self {
        Self { span, scope: None, watch: Watch::NotYet, holder }
    }

    /// Calls a function inside of the locks.
    #[inline(always)]
    fn inside<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let _inside = self.holder.enter(&mut self.scope);
        let _spanned = self.span.as_ref().map(|span| span.span().enter());
        call()
    }

    /// Waits for a loss, while the body waits.
    fn lost(&mut self, context: &mut Context<'_>) -> Poll<LockError> {
        // The next step may be taken elsewhere.
        self.scope.get_or_insert_with(|| self.holder.scope());
        if let Watch::NotYet = self.watch {
            self.watch = Watch::Watching(self.holder.lost());
        }
        if let Watch::Watching(lost) = &mut self.watch {
            ready!(lost.as_mut().poll(context));
            self.watch = Watch::Woken;
            if let Err(lost) = self.holder.check() {
                return Poll::Ready(lost);
            }
        }
        Poll::Pending
    }
}

impl<H: Holder, F: Future> Body<H, F> {
    #[inline]
    fn new(holder: H, future: F) -> Self {
        let span = holder.span();
        Self { under: Some(Under::new(holder, span)), future: Some(future), ending: None }
    }

    /// Returns a body that has not begun.
    #[inline(always)]
    pub(super) fn before(future: F) -> Self {
        Self { under: None, future: Some(future), ending: None }
    }

    /// Puts the body under these holds, and into their span if they have one for it.
    pub(super) fn begin(self: Pin<&mut Self>, holder: H) {
        let span = holder.span();
        self.go_on(holder, span);
    }

    /// Puts the body under these holds, and into this span.
    pub(super) fn go_on(self: Pin<&mut Self>, holder: H, span: Option<Arc<HoldSpan>>) {
        *self.project().under = Some(Under::new(holder, span));
    }

    /// Takes the first step of a body, and drops what is left of it if that was the last one. The caller has entered the
    /// locks and the span.
    #[inline(always)]
    pub(super) fn first_step(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        step(self.project().future, context)
    }

    /// Takes a step of the body inside of its locks, and drops what is left of it if that was the last one.
    #[inline(always)]
    fn step(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let future = this.future;
        this.under.as_mut().expect(ENDED).inside(|| step(future, context))
    }

    /// Drops what is left of the body, inside of its locks, and then gives them up.
    fn stop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(under) = this.under {
            under.inside(|| this.future.set(None));
        }
        *this.under = None;
    }

    /// Waits for a loss, while the body waits. Drops the body if something is lost.
    pub(super) fn wait(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LockError> {
        let under = self.as_mut().project().under.as_mut().expect(ENDED);
        let lost = ready!(under.lost(context));
        self.stop();
        Poll::Ready(lost)
    }

    /// Waits for the end of the holds, and returns the value of the body.
    fn end(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let ending = self.project().ending;
        if let Some(ending) = ending {
            ready!(Pin::new(&mut ending.0).poll(context));
        }
        let (_, value) = *ending.take().expect(ENDED);
        Poll::Ready(value)
    }
}

impl<H: Holder, F: Future> Future for Body<H, F> {
    type Output = Result<F::Output, LockError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.run(context, Ok, Err)
    }
}

impl<H: Holder, F: Future> Body<H, F> {
    /// Takes a step. The value of the body, or the loss of a lock, is converted by one of the functions.
    // In one function, because the value is moved less often then.
    #[inline(always)]
    pub(super) fn run<T>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        done: impl FnOnce(F::Output) -> T,
        failed: impl FnOnce(LockError) -> T,
    ) -> Poll<T> {
        if self.ending.is_some() {
            return self.end(context).map(done);
        }
        if let Err(lost) = self.under.as_ref().expect(ENDED).holder.check() {
            self.stop();
            return Poll::Ready(failed(lost));
        }
        let Poll::Ready(value) = self.as_mut().step(context) else {
            return self.wait(context).map(failed);
        };
        // The span is not needed any more, and may be closed by the end of the holds.
        let Under { holder, .. } = self.as_mut().project().under.take().expect(ENDED);
        if let Err(lost) = holder.check() {
            // Before the locks are given up.
            drop(value);
            drop(holder);
            return Poll::Ready(failed(lost));
        }
        self.finish(holder.finish(), value, context).map(done)
    }

    /// Ends the body with this value, for which the end of its holds has to be waited for.
    #[inline(always)]
    pub(super) fn finish(
        self: Pin<&mut Self>,
        mut finishing: Finishing,
        value: F::Output,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        if Pin::new(&mut finishing).poll(context).is_ready() {
            return Poll::Ready(value);
        }
        *self.project().ending = Some(Box::new((finishing, value)));
        Poll::Pending
    }
}

/// Takes a step of a body, and drops what is left of it if that was the last one.
#[inline(always)]
fn step<F: Future>(mut body: Pin<&mut Option<F>>, context: &mut Context<'_>) -> Poll<F::Output> {
    let step = body.as_mut().as_pin_mut().expect(ENDED).poll(context);
    if step.is_ready() {
        body.set(None);
    }
    step
}

const ENDED: &str = "a future is not polled after its end";

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::task::Waker;

    use super::super::holder::scope_within;
    use super::super::node::Node;
    use super::*;
    use crate::error::LossReason;

    /// Holds whose loss a test decides, and that record their end.
    struct Staged<'a> {
        is_held: &'a Cell<bool>,
        ends: &'a RefCell<Vec<&'static str>>,
    }

    impl Holder for Staged<'_> {
        fn check(&self) -> Result<(), LockError> {
            match self.is_held.get() {
                true => Ok(()),
                false => Err(LockError::Lost { path: "/a".into(), reason: LossReason::LeaseExpired }),
            }
        }

        fn lost(&self) -> Lost {
            Box::pin(pending())
        }

        fn around(&self) -> Option<&Arc<Node>> {
            None
        }

        fn scope(&self) -> Scope {
            scope_within(&[])
        }

        fn span(&self) -> Option<Arc<HoldSpan>> {
            None
        }

        fn finish(self) -> Finishing {
            self.ends.borrow_mut().push("finished");
            Finishing::nothing()
        }
    }

    impl Drop for Staged<'_> {
        fn drop(&mut self) {
            self.ends.borrow_mut().push("given up");
        }
    }

    /// A value that records its drop.
    struct Told<'a>(&'a RefCell<Vec<&'static str>>);

    impl Drop for Told<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push("dropped");
        }
    }

    #[test]
    fn a_body_takes_no_step_once_the_clock_ran_out_although_nobody_told_it() {
        let (is_held, ends, steps) = (Cell::new(true), RefCell::default(), Cell::new(0));
        let body = poll_fn(|_| {
            steps.set(steps.get() + 1);
            Poll::<()>::Pending
        });
        let mut run = pin!(Body::new(Staged { is_held: &is_held, ends: &ends }, body));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        let outcome = run.as_mut().poll(&mut context);
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!(steps.get(), 1);
    }

    #[test]
    fn a_body_is_dropped_before_its_locks_when_its_end_is_told_although_the_run_is_kept() {
        let (is_held, ends) = (Cell::new(true), RefCell::default());
        let told = Told(&ends);
        let body = async move {
            let _told = told;
            pending::<()>().await;
        };
        let mut run = pin!(Body::new(Staged { is_held: &is_held, ends: &ends }, body));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        is_held.set(false);
        assert!(run.as_mut().poll(&mut context).is_ready());
        assert_eq!(*ends.borrow(), ["dropped", "given up"]);
    }

    #[test]
    fn a_body_that_ends_in_the_step_that_lost_the_lock_is_no_success() {
        let (is_held, ends) = (Cell::new(true), RefCell::default());
        let body = async {
            is_held.set(false);
            Told(&ends)
        };
        let run = pin!(Body::new(Staged { is_held: &is_held, ends: &ends }, body));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.is_lost()));
        assert_eq!(*ends.borrow(), ["dropped", "given up"]);
    }

    #[test]
    fn the_locks_are_given_back_when_the_body_has_ended() {
        let (is_held, ends) = (Cell::new(true), RefCell::default());
        let run = pin!(Body::new(Staged { is_held: &is_held, ends: &ends }, async { 7 }));
        let outcome = run.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Ok(7))));
        assert_eq!(*ends.borrow(), ["finished", "given up"]);
    }
}
