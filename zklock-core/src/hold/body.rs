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
use super::taken::Taken;

/// Runs a body under these holds, and drops it at its next await if a lock is lost. Its first step is taken where the future
/// is made.
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

impl Taken {
    /// Runs a body as [`run_at_once`] does, and then ends the hold as [`finish`](super::finish) does.
    #[inline]
    pub(crate) fn run<F: Future>(
        self,
        body: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<F> {
        Body::new(self, body)
    }
}

pin_project! {
    /// A body under its locks, which end with it.
    ///
    /// It is a type of its own because the future of an async function
    /// would have two places for the body, so that those of nested calls would multiply in size.
    struct Body<H: Holder, F: Future> {
        // `None` once the body has ended.
        holder: Option<H>,
        // `None` until the body has waited, if it can do without.
        scope: Option<Scope>,
        watch: Watch,
        #[pin]
        future: Option<F>,
        span: Option<Arc<HoldSpan>>,
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

/// The future that wakes the task of a body. It is made only for a body that waits.
enum Watch {
    NotYet,
    Watching(Lost),
    Woken,
}

impl<H: Holder, F: Future> Body<H, F> {
    #[inline]
    fn new(holder: H, future: F) -> Self {
        let span = holder.span();
        Self {
            holder: Some(holder),
            scope: None,
            watch: Watch::NotYet,
            future: Some(future),
            span,
            ending: None,
        }
    }

    /// Takes a step of the body inside of its locks, and drops what is left of it if that was the last one.
    #[inline(always)]
    fn step(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let _inside = this.holder.as_ref().expect(ENDED).enter(this.scope);
        let _spanned = this.span.as_ref().map(|span| span.span().enter());
        let step = this.future.as_mut().as_pin_mut().expect(ENDED).poll(context);
        if step.is_ready() {
            this.future.set(None);
        }
        step
    }

    /// Drops what is left of the body, inside of its locks, and then gives them up.
    fn stop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(holder) = this.holder {
            let _inside = holder.enter(this.scope);
            let _spanned = this.span.as_ref().map(|span| span.span().enter());
            this.future.set(None);
        }
        *this.span = None;
        *this.holder = None;
    }

    /// Waits for a loss, after a step after which the body waits. Fails if something is lost.
    fn wait(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LockError> {
        let this = self.project();
        let holder = this.holder.as_ref().expect(ENDED);
        // The next step may be taken elsewhere.
        this.scope.get_or_insert_with(|| holder.scope());
        if let Watch::NotYet = this.watch {
            *this.watch = Watch::Watching(holder.lost());
        }
        if let Watch::Watching(lost) = this.watch {
            ready!(lost.as_mut().poll(context));
            *this.watch = Watch::Woken;
            if let Err(lost) = holder.check() {
                return Poll::Ready(lost);
            }
        }
        Poll::Pending
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

    // In one function, because the value is moved less often then.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ending.is_some() {
            return self.end(context).map(Ok);
        }
        if let Err(lost) = self.holder.as_ref().expect(ENDED).check() {
            self.stop();
            return Poll::Ready(Err(lost));
        }
        let Poll::Ready(value) = self.as_mut().step(context) else {
            let lost = ready!(self.as_mut().wait(context));
            self.stop();
            return Poll::Ready(Err(lost));
        };
        let this = self.as_mut().project();
        *this.span = None;
        let holder = this.holder.take().expect(ENDED);
        holder.check()?;
        let mut finishing = holder.finish();
        if Pin::new(&mut finishing).poll(context).is_ready() {
            return Poll::Ready(Ok(value));
        }
        *self.project().ending = Some(Box::new((finishing, value)));
        Poll::Pending
    }
}

const ENDED: &str = "a future is not polled after its end";
