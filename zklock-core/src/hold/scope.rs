//! The task-local scope that carries the holds of a logical call.

use std::future::Future;
use std::sync::Arc;

use tracing::{Instrument, Span};

use crate::client::Client;
use crate::path::NodePath;

use super::Hold;
use super::chain::Chain;
use super::entry::{Entry, Relation};
use super::held::{Frame, Held, Leading};
use super::node::Node;

tokio::task_local! {
    /// The locks and terms of the call that is being polled.
    static SCOPE: Chain<Frame>;
}

/// Runs a future inside these holds, and their span.
pub(crate) fn scope<F: Future>(holds: &[Hold], future: F) -> impl Future<Output = F::Output> + use<F> {
    SCOPE.scope(inside(holds), future.instrument(around(holds)))
}

/// Calls a function inside these holds, and their span.
pub(crate) fn scope_blocking<T>(holds: &[Hold], function: impl FnOnce() -> T) -> T {
    around(holds).in_scope(|| SCOPE.sync_scope(inside(holds), function))
}

/// Runs a future inside this term. Calls find the term until the future ends.
pub(crate) fn scope_in_term<F: Future>(
    term: Arc<dyn Leading>,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    let body = Arc::new(());
    let scoped = SCOPE.scope(inside_term(&term, &body), future);
    async move {
        let _alive = (term, body);
        scoped.await
    }
}

/// Calls a function inside this term. Calls find the term until the function returns.
pub(crate) fn scope_blocking_in_term<T>(term: Arc<dyn Leading>, function: impl FnOnce() -> T) -> T {
    let body = Arc::new(());
    SCOPE.sync_scope(inside_term(&term, &body), function)
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
    SCOPE.scope(current(), future)
}

/// Returns a function that is called with the holds of the current call, for a thread that works on behalf of that
/// call.
///
/// This is [`inherit`] for code that is not async.
pub fn inherit_blocking<T>(function: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let scope = current();
    move || SCOPE.sync_scope(scope, function)
}

/// Returns the locks and terms of the current call that have not ended, beginning with the innermost.
pub(crate) fn held() -> impl Iterator<Item = Held> {
    let held: Vec<_> = current().iter().filter_map(Frame::held).collect();
    held.into_iter()
}

/// Returns the scope of the current call with these holds in it.
fn inside(holds: &[Hold]) -> Chain<Frame> {
    with_frame(Frame::of(holds.iter().map(Hold::node).cloned()))
}

fn inside_term(term: &Arc<dyn Leading>, body: &Arc<()>) -> Chain<Frame> {
    with_frame(Frame::Term { body: Arc::downgrade(body), term: Arc::downgrade(term) })
}

fn with_frame(frame: Frame) -> Chain<Frame> {
    let mut frame = Some(frame);
    let mut inside = |frames: &Chain<Frame>| frame.take().map(|frame| frames.with(frame));
    let scope = SCOPE.try_with(&mut inside).ok().flatten();
    scope.or_else(|| inside(&Chain::default())).unwrap_or_default()
}

fn current() -> Chain<Frame> {
    SCOPE.try_with(Clone::clone).unwrap_or_default()
}

/// Returns the span for a body under these holds, which is that of the last one. A body that is inside of a later span
/// than that, such as the body of a call that has entered the lock again, stays there.
fn around(holds: &[Hold]) -> Span {
    holds.iter().rev().find_map(|hold| hold.own_ties().span.for_body()).unwrap_or_else(Span::none)
}

/// Returns the innermost hold of the current call that is related to an entry of this lock, and the relation.
#[inline]
pub(super) fn nearest(client: &Client, lock: (&NodePath, Entry)) -> Option<(Arc<Node>, Relation)> {
    let nearest = |frames: &Chain<Frame>| {
        let mut nodes = frames.iter().flat_map(Frame::nodes);
        let (node, relation) =
            nodes.find_map(|node| node.relation(client, lock).map(|relation| (node, relation)))?;
        // Cloned, because other code may enter scopes.
        Some((node.clone(), relation))
    };
    SCOPE.try_with(nearest).ok().flatten()
}

/// Returns the length of the current call's list.
#[cfg(test)]
pub(crate) fn length() -> usize {
    current().iter().count()
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::sync::oneshot;

    use super::*;
    use crate::Mutex;
    use crate::client::connected;

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
                let longest = longest.max(current().iter().count());
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
        tokio::spawn(generation(client.mutex("/a").unwrap(), told, (1_000, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} holds, of which one is not over");
    }
}
