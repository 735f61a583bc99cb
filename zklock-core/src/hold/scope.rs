//! The scope of a call: the locks and terms around it, which its future or thread carries along.

use std::cell::RefCell;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt};
use tracing::{Instrument, Span};

use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::events::HoldSpan;
use crate::lease::Share;

use super::lock_ref::{LockRef, Reentry};
use super::{Entry, Hold};

thread_local! {
    /// The scope of the call that this thread runs at present.
    static SCOPE: RefCell<Scope> = const { RefCell::new(Scope(Vec::new())) };
}

/// The locks and terms around a call, the innermost first. It keeps no lock held: the end of a hold takes the grant out of its
/// entry. It refers to terms weakly.
struct Scope(Vec<Frame>);

/// The locks that were taken as one, or the term, around a body.
#[derive(Clone)]
enum Frame {
    Locks(Arc<[Arc<Entry>]>),
    Term(Weak<TermBody>),
}

/// The body under a term, which may end while the term lasts.
struct TermBody(Arc<dyn Part>);

/// A lock or a term of leadership, as its holder and the calls inside of it see it. The module `leader`, which is above this
/// one, implements it for terms.
pub(crate) trait Part: Send + Sync {
    fn share(&self) -> &Arc<Share>;

    /// Returns the worker of the client that has it, or `None` if it was given back.
    fn worker(&self) -> Option<Arc<Worker>>;

    /// Fails if it is lost, given back or over.
    fn check(&self) -> Result<(), LockError>;

    /// Returns whether it is held, or lasts, at this instant. A broken connection suspends a lock.
    fn is_held(&self) -> bool;

    /// Waits until it is lost, given back or over.
    fn lost(&self) -> BoxFuture<'_, LossReason>;
}

/// The locks that were taken as one, one part for each node on the servers, or a term; at least one part.
pub(crate) type Parts = Arc<[Arc<dyn Part>]>;

pub(crate) fn parts(holds: &[Hold]) -> Parts {
    holds.iter().map(|hold| hold.entry().clone() as _).collect()
}

impl Frame {
    fn of_locks(holds: &[Hold]) -> Self {
        Self::Locks(holds.iter().map(|hold| hold.entry().clone()).collect())
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Locks(entries) => entries.iter().all(|entry| entry.is_over()),
            Self::Term(body) => body.strong_count() == 0,
        }
    }

    /// Returns the entries, of which a term has none.
    fn entries(&self) -> &[Arc<Entry>] {
        match self {
            Self::Locks(entries) => entries,
            Self::Term(_) => &[],
        }
    }

    /// Returns what is held, or `None` if a part of it has ended: a write that checks only what is left would not be guarded by
    /// all of it.
    fn parts(&self) -> Option<Parts> {
        match self {
            Self::Locks(entries) => {
                let is_whole = !entries.iter().any(|entry| entry.is_over());
                is_whole.then(|| entries.iter().map(|entry| entry.clone() as _).collect())
            }
            Self::Term(body) => Some([body.upgrade()?.0.clone()].into()),
        }
    }
}

impl Scope {
    /// Looks at the scope of the present call. While a thread ends, its scope may be gone, and counts as empty.
    fn present<T>(look: impl Fn(&[Frame]) -> T) -> T {
        SCOPE.try_with(|present| look(&present.borrow().0)).unwrap_or_else(|_| look(&[]))
    }

    /// Returns the scope of the present call, with this frame in it. Frames that are over are forgotten, so that a function can
    /// spawn itself inside of its lock any number of times.
    fn around(frame: Option<Frame>) -> Self {
        let lasting = |frames: &[Frame]| -> Vec<_> {
            frames.iter().filter(|frame| !frame.is_over()).cloned().collect()
        };
        Self(frame.into_iter().chain(Self::present(lasting)).collect())
    }

    /// Makes this the scope of this thread until the returned value is dropped, and keeps the scope before meanwhile.
    fn enter(&mut self) -> Entered<'_> {
        self.swap();
        Entered(self)
    }

    fn swap(&mut self) {
        // While a thread ends, its scope may be gone.
        let _ = SCOPE.try_with(|present| mem::swap(&mut *present.borrow_mut(), self));
    }
}

/// Restores the thread's previous scope, which is stored here meanwhile.
struct Entered<'a>(&'a mut Scope);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.swap();
    }
}

/// Returns the locks and terms of the present call that have not ended, the innermost first.
pub(crate) fn held() -> Vec<Parts> {
    Scope::around(None).0.iter().filter_map(Frame::parts).collect()
}

/// Returns the innermost entry of the present call into this lock, and what it means to enter the lock inside of it. Locks
/// that are independent of it are passed over.
pub(super) fn nearest(client: &Client, lock: &LockRef) -> Option<(Arc<Entry>, Reentry)> {
    Scope::present(|frames| {
        frames.iter().flat_map(Frame::entries).find_map(|entry| {
            let reentry = entry.access.reentry(lock.access)?;
            let is_same = entry.lease().path() == &lock.path && entry.is_of(client);
            is_same.then(|| (entry.clone(), reentry))
        })
    })
}

/// Polls and drops a future inside of a scope. The future is boxed, so that the futures of nested bodies
/// do not multiply in size.
pub(crate) struct Scoped<F> {
    scope: Scope,
    /// `None` once it has ended.
    future: Option<Pin<Box<F>>>,
    /// If the future is the body under a term. It ends behind the future.
    body: Option<Arc<TermBody>>,
}

impl<F> Scoped<F> {
    fn new(scope: Scope, future: F, body: Option<Arc<TermBody>>) -> Self {
        Self { scope, future: Some(Box::pin(future)), body }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { scope, future, body } = &mut *self;
        let _entered = scope.enter();
        let running = future.as_mut().expect("a future is not polled after its end");
        let outcome = running.as_mut().poll(context);
        if outcome.is_ready() {
            *future = None;
            *body = None;
        }
        outcome
    }
}

impl<F> Drop for Scoped<F> {
    fn drop(&mut self) {
        let _entered = self.scope.enter();
        self.future = None;
    }
}

/// Runs a future inside of these holds, and of their span.
pub(crate) fn scope<F: Future>(
    holds: &[Hold],
    future: F,
) -> Scoped<impl Future<Output = F::Output> + use<F>> {
    let span = span_of(holds).map_or_else(Span::none, |span| span.span().clone());
    Scoped::new(Scope::around(Some(Frame::of_locks(holds))), future.instrument(span), None)
}

/// Returns the span for a body under these holds, unless the body is to stay in the present one.
fn span_of(holds: &[Hold]) -> Option<Arc<HoldSpan>> {
    holds.iter().rev().filter_map(Hold::span).find(|span| span.is_for_body())
}

/// Runs a future inside of this term. Calls find the term until the future ends.
pub(crate) fn scope_in_term<F: Future>(term: Arc<dyn Part>, future: F) -> Scoped<F> {
    let body = Arc::new(TermBody(term));
    Scoped::new(Scope::around(Some(Frame::Term(Arc::downgrade(&body)))), future, Some(body))
}

/// Runs a future with the holds of the current call, for a task that is spawned on behalf of that call.
///
/// A task that is spawned without this function does not have those holds, and contends like any
/// other caller.
///
/// # Cancel safety
///
/// The same as that of `future`.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    Scoped::new(Scope::around(None), future, None)
}

/// Returns a function that is called with the holds of the current call, for a thread that works on behalf of that
/// call.
///
/// This is [`inherit`] for code that is not async.
pub fn inherit_blocking<T>(function: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let called = inherit(async { function() });
    move || at_once(called)
}

/// Returns the outcome of a future that waits for nothing.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a function does not wait")
}

/// Returns the number of locks and terms in the scope of the present call.
#[cfg(test)]
pub(crate) fn length() -> usize {
    Scope::present(<[Frame]>::len)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::panic::AssertUnwindSafe;
    use std::rc::Rc;

    use futures_util::future::FutureExt;
    use futures_util::poll;
    use tokio::sync::oneshot;

    use crate::client::connected;
    use crate::held;

    fn paths() -> Vec<String> {
        held().iter().map(|held| held.path().to_owned()).collect()
    }

    #[tokio::test]
    async fn each_body_finds_the_holds_around_it_and_leaves_them_behind() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let inner = async || {
            assert_eq!(held().len(), 3);
            mutex.run(async |_| assert_eq!(held().len(), 4)).await.unwrap();
            assert_eq!(held().len(), 3);
        };
        let outer = async || {
            assert_eq!(held().len(), 2);
            mutex.run(async |_| inner().await).await.unwrap();
            assert_eq!(held().len(), 2);
        };
        let first = mutex.lock().await.unwrap();
        let inside = async {
            mutex.run(async |_| outer().await).await.unwrap();
            assert_eq!(held().len(), 1);
            let entry = mutex.lock().await.unwrap();
            entry.run_blocking(|| assert_eq!(held().len(), 2)).unwrap();
            assert_eq!(held().len(), 1);
        };
        first.scope(inside).await;
        assert!(held().is_empty());
    }

    #[tokio::test]
    async fn a_body_keeps_the_holds_around_its_beginning_although_it_goes_on_elsewhere() {
        let (_server, client) = connected().await;
        let around = client.mutex("/a").unwrap().lock().await.unwrap();
        let mutex = client.mutex("/b").unwrap();
        let first = mutex.lock().await.unwrap();
        let entry = first.scope(mutex.lock()).await.unwrap();
        let (go_on, goes_on) = oneshot::channel();
        let body = async {
            let before = paths();
            goes_on.await.unwrap();
            (before, paths())
        };
        let begin = || first.run_blocking(|| Box::pin(entry.run(body))).unwrap();
        let mut run = around.run_blocking(begin).unwrap();
        assert!(poll!(&mut run).is_pending());
        assert!(paths().is_empty());
        go_on.send(()).unwrap();
        let all = ["/b", "/b", "/a"].map(str::to_owned).to_vec();
        assert_eq!(run.await.unwrap(), (all.clone(), all));
    }

    #[tokio::test]
    async fn a_value_that_a_body_drops_finds_its_holds() {
        struct Looks(Rc<Cell<usize>>);

        impl Drop for Looks {
            fn drop(&mut self) {
                self.0.set(held().len());
            }
        }

        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let first = mutex.lock().await.unwrap();
        let inside = async {
            let entry = mutex.lock().await.unwrap();
            for waits in [false, true] {
                let found = Rc::new(Cell::new(0));
                let looks = Looks(found.clone());
                let body = async move {
                    let _looks = looks;
                    if waits {
                        pending::<()>().await;
                    }
                };
                let mut run = Box::pin(entry.run(body));
                assert_eq!(poll!(&mut run).is_pending(), waits);
                drop(run);
                assert_eq!(found.get(), 2);
            }
        };
        first.scope(inside).await;
    }

    #[tokio::test]
    async fn a_body_that_panics_leaves_its_holds_behind() {
        let (_server, client) = connected().await;
        let mutex = client.mutex("/a").unwrap();
        let first = mutex.lock().await.unwrap();
        let inside = async {
            let entry = mutex.lock().await.unwrap();
            for waits in [false, true] {
                let body = async move {
                    if waits {
                        tokio::task::yield_now().await;
                    }
                    assert_eq!(held().len(), 0, "two are held, and it panics");
                };
                assert!(AssertUnwindSafe(entry.run(body)).catch_unwind().await.is_err());
                assert_eq!(held().len(), 1);
            }
            panic!("the body of the first hold panics, too");
        };
        assert!(AssertUnwindSafe(first.scope(inside)).catch_unwind().await.is_err());
        assert!(held().is_empty());
    }
}
