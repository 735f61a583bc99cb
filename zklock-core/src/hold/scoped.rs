//! Runs code inside of holds and terms, which the calls in it find.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tracing::{Instrument, Span};

use super::Hold;
use super::held::Leading;
use super::holder::{Holder, scope_inside, span_around};
use super::holds::Holds;
use super::scope::{Scope, current, enter, inside_term};

/// Runs a future inside these holds, and their span.
pub(crate) fn scope<F: Future>(holds: &[Hold], future: F) -> impl Future<Output = F::Output> + use<F> {
    let span = span_around(holds).map_or_else(Span::none, |span| span.span().clone());
    Scoped::new(scope_inside(holds), future.instrument(span))
}

/// Calls a function inside these holds, and their span.
pub(crate) fn scope_blocking<T>(holds: &Holds, function: impl FnOnce() -> T) -> T {
    let (span, mut scope) = (span_around(holds), None);
    let _spanned = span.as_ref().map(|span| span.span().enter());
    let _inside = holds.enter(&mut scope);
    function()
}

/// Runs a future inside this term. Calls find the term until the future ends.
pub(crate) fn scope_in_term<F: Future>(
    term: Arc<dyn Leading>,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    let body = Arc::new(());
    let scoped = Scoped::new(inside_term(&term, &body), future);
    async move {
        let _alive = (term, body);
        scoped.await
    }
}

/// Calls a function inside this term. Calls find the term until the function returns.
pub(crate) fn scope_blocking_in_term<T>(term: Arc<dyn Leading>, function: impl FnOnce() -> T) -> T {
    let body = Arc::new(());
    call(inside_term(&term, &body), function)
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
    Scoped::new(current(), future)
}

/// Returns a function that is called with the holds of the current call, for a thread that works on behalf of that
/// call.
///
/// This is [`inherit`] for code that is not async.
pub fn inherit_blocking<T>(function: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let scope = current();
    move || call(scope, function)
}

fn call<T>(mut scope: Scope, function: impl FnOnce() -> T) -> T {
    let _entered = enter(&mut scope);
    function()
}

pin_project! {
    /// A future whose steps are taken, and which is dropped, inside of a scope.
    struct Scoped<F> {
        scope: Scope,
        // `None` once it has ended.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                let _entered = enter(this.scope);
                this.future.set(None);
            }
        }
    }
}

impl<F> Scoped<F> {
    fn new(scope: Scope, future: F) -> Self {
        Self { scope, future: Some(future) }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let _entered = enter(this.scope);
        let future = this.future.as_mut().as_pin_mut().expect("a future is not polled after its end");
        let outcome = future.poll(context);
        if outcome.is_ready() {
            this.future.set(None);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, poll_fn};
    use std::panic::AssertUnwindSafe;
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::Poll;

    use futures_util::future::FutureExt;
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
            let visit = mutex.lock().await.unwrap();
            visit.run_blocking(|| assert_eq!(held().len(), 2)).unwrap();
            assert_eq!(held().len(), 1);
        };
        first.scope(inside).await;
        assert!(held().is_empty());
    }

    #[tokio::test]
    async fn a_body_keeps_the_holds_around_its_first_step_although_it_goes_on_elsewhere() {
        let (_server, client) = connected().await;
        let around = client.mutex("/a").unwrap().lock().await.unwrap();
        let mutex = client.mutex("/b").unwrap();
        let first = mutex.lock().await.unwrap();
        let visit = first.scope(mutex.lock()).await.unwrap();
        let (go_on, goes_on) = oneshot::channel();
        let body = async {
            let before = paths();
            goes_on.await.unwrap();
            (before, paths())
        };
        let mut run = pin!(visit.run_at_once(body));
        let step = poll_fn(|context| Poll::Ready(run.as_mut().poll(context).is_pending()));
        assert!(around.scope(async { first.scope(step).await }).await, "the body waits");
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
            let visit = mutex.lock().await.unwrap();
            for waits in [false, true] {
                let found = Rc::new(Cell::new(0));
                let looks = Looks(found.clone());
                let body = async move {
                    let _looks = looks;
                    if waits {
                        pending::<()>().await;
                    }
                };
                let mut run = Box::pin(visit.run_at_once(body));
                assert_eq!(futures_util::poll!(&mut run).is_pending(), waits);
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
            let visit = mutex.lock().await.unwrap();
            for waits in [false, true] {
                let body = async move {
                    if waits {
                        tokio::task::yield_now().await;
                    }
                    assert_eq!(held().len(), 0, "two are held, and it panics");
                };
                assert!(AssertUnwindSafe(visit.run_at_once(body)).catch_unwind().await.is_err());
                assert_eq!(held().len(), 1);
            }
            panic!("the body of the first hold panics, too");
        };
        assert!(AssertUnwindSafe(first.scope(inside)).catch_unwind().await.is_err());
        assert!(held().is_empty());
    }
}
