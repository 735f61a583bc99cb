//! The scope of a call: the locks and terms around it, which its future or thread carries along.

use std::cell::RefCell;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

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
pub(crate) enum Frame {
    Locks(Entries),
    Term {
        /// The scope of the body, which ends while the term may last.
        body: Weak<()>,
        term: Weak<dyn LeaderTerm>,
    },
}

/// A term of leadership, as the calls inside of it see it. The module `leader`, which is above this one, implements it.
pub(crate) trait LeaderTerm: Send + Sync {
    fn share(&self) -> &Arc<Share>;

    fn worker(&self) -> &Arc<Worker>;

    /// Fails if the term is over.
    fn check(&self) -> Result<(), LockError>;

    /// Waits until the term is over.
    fn over(&self) -> Pin<Box<dyn Future<Output = LossReason> + Send + '_>>;
}

/// The entries into locks that were taken as one, one for each node on the servers; at least one.
pub(crate) type Entries = Arc<[Arc<Entry>]>;

pub(crate) fn entries(holds: &[Hold]) -> Entries {
    holds.iter().map(|hold| hold.entry().clone()).collect()
}

impl Frame {
    fn of_locks(holds: &[Hold]) -> Self {
        Self::Locks(entries(holds))
    }

    fn of_term(term: &Arc<dyn LeaderTerm>, body: &Arc<()>) -> Self {
        Self::Term { body: Arc::downgrade(body), term: Arc::downgrade(term) }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Locks(entries) => entries.iter().all(|entry| entry.is_over()),
            Self::Term { body, .. } => body.strong_count() == 0,
        }
    }

    /// Returns the entries, of which a term has none.
    fn entries(&self) -> &[Arc<Entry>] {
        match self {
            Self::Locks(entries) => entries,
            Self::Term { .. } => &[],
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
    fn around(frame: Option<&Frame>) -> Self {
        let lasting = |frames: &[Frame]| {
            frame.into_iter().chain(frames.iter().filter(|frame| !frame.is_over())).cloned().collect()
        };
        Self(Self::present(lasting))
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
pub(crate) fn frames() -> Vec<Frame> {
    Scope::around(None).0
}

/// Returns whether the present call is inside of the term with this share.
pub(crate) fn is_in_term(share: &Arc<Share>) -> bool {
    frames().iter().any(|frame| match frame {
        Frame::Term { term, .. } => term.upgrade().is_some_and(|term| Arc::ptr_eq(term.share(), share)),
        Frame::Locks(_) => false,
    })
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
pub(crate) struct Scoped<F, K = ()> {
    scope: Scope,
    /// The future, and what is kept until it is dropped. `None` once it has ended.
    running: Option<(Pin<Box<F>>, K)>,
}

impl<F, K> Scoped<F, K> {
    fn new(scope: Scope, future: F, kept: K) -> Self {
        Self { scope, running: Some((Box::pin(future), kept)) }
    }
}

impl<F: Future, K: Unpin> Future for Scoped<F, K> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { scope, running } = &mut *self;
        let _entered = scope.enter();
        let (future, _) = running.as_mut().expect("a future is not polled after its end");
        let outcome = future.as_mut().poll(context);
        if outcome.is_ready() {
            *running = None;
        }
        outcome
    }
}

impl<F, K> Drop for Scoped<F, K> {
    fn drop(&mut self) {
        let _entered = self.scope.enter();
        self.running = None;
    }
}

/// Runs a future inside of these holds, and of their span.
pub(crate) fn scope<F: Future>(
    holds: &[Hold],
    future: F,
) -> Scoped<impl Future<Output = F::Output> + use<F>> {
    let span = span_of(holds).map_or_else(Span::none, |span| span.span().clone());
    Scoped::new(Scope::around(Some(&Frame::of_locks(holds))), future.instrument(span), ())
}

/// Calls a function inside of these holds, and of their span.
pub(crate) fn scope_blocking<T>(holds: &[Hold], function: impl FnOnce() -> T) -> T {
    let span = span_of(holds);
    let _spanned = span.as_ref().map(|span| span.span().enter());
    let mut scope = Scope::around(Some(&Frame::of_locks(holds)));
    let _entered = scope.enter();
    function()
}

/// Returns the span for a body under these holds, unless the body is to stay in the present one.
fn span_of(holds: &[Hold]) -> Option<Arc<HoldSpan>> {
    holds.iter().rev().filter_map(Hold::span).find(|span| span.is_for_body())
}

/// Runs a future inside of this term. Calls find the term until the future ends.
pub(crate) fn scope_in_term<F: Future>(
    term: Arc<dyn LeaderTerm>,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    let body = Arc::new(());
    let scope = Scope::around(Some(&Frame::of_term(&term, &body)));
    Scoped::new(scope, future, (term, body))
}

/// Calls a function inside of this term. Calls find the term until the function returns.
pub(crate) fn scope_blocking_in_term<T>(term: Arc<dyn LeaderTerm>, function: impl FnOnce() -> T) -> T {
    let body = Arc::new(());
    let mut scope = Scope::around(Some(&Frame::of_term(&term, &body)));
    let _entered = scope.enter();
    function()
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
    Scoped::new(Scope::around(None), future, ())
}

/// Returns a function that is called with the holds of the current call, for a thread that works on behalf of that
/// call.
///
/// This is [`inherit`] for code that is not async.
pub fn inherit_blocking<T>(function: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let mut scope = Scope::around(None);
    move || {
        let _entered = scope.enter();
        function()
    }
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

    use super::*;
    use crate::client::connected;
    use crate::{Mutex, held};

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

    /// Takes the lock, spawns its successor inside of it, and reports the longest scope.
    fn generation(
        mutex: Mutex,
        parent: oneshot::Receiver<()>,
        (left, longest): (u32, usize),
        done: oneshot::Sender<usize>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            parent.await.unwrap();
            let guard = mutex.lock().await.unwrap();
            let (tell, told) = oneshot::channel();
            let inside = async {
                let longest = longest.max(length());
                match left {
                    0 => done.send(longest).unwrap(),
                    _ => drop(tokio::spawn(inherit(generation(mutex, told, (left - 1, longest), done)))),
                }
            };
            guard.scope(inside).await;
            guard.release().await.unwrap();
            tell.send(()).ok();
        })
    }

    #[tokio::test]
    async fn a_locked_function_that_spawns_itself_has_a_short_scope() {
        let (_server, client) = connected().await;
        let ((tell, told), (done, longest)) = (oneshot::channel(), oneshot::channel());
        tell.send(()).unwrap();
        let generations = if cfg!(soak) { 1_000 } else { 200 };
        tokio::spawn(generation(client.mutex("/a").unwrap(), told, (generations, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} holds, of which one is not over");
    }
}
