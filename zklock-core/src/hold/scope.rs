//! The task-local scope that carries the holds of a logical call.

use std::future::Future;
use std::sync::Arc;

use tracing::{Instrument, Span};

use crate::client::Client;
use crate::path::NodePath;

use super::Hold;
use super::chain::Chain;
use super::entry::{Again, Entry, Relation};
use super::held::{Frame, Held, Leading};
use super::node::{Node, Ties};
use super::visit::Visit;

tokio::task_local! {
    /// The locks and terms of the call that is being polled.
    static SCOPE: Scope;
}

/// The locks and terms around a call.
#[derive(Clone, Default)]
struct Scope {
    /// The innermost one, if it is an entry into a lock that the call has entered before, and was alone there.
    visit: Option<Visit>,
    frames: Chain<Frame>,
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
    let Scope { visit, frames } = current();
    let visit = visit.and_then(|visit| visit.node()).map(Frame::Lock);
    let held: Vec<_> = visit.iter().chain(frames.iter()).filter_map(Frame::held).collect();
    held.into_iter()
}

/// Returns the scope of the current call with these holds in it.
fn inside(holds: &[Hold]) -> Scope {
    if let [hold] = holds
        && let Some(visit) = hold.visit()
    {
        return Scope { visit: Some(visit), frames: current().into_frames() };
    }
    with_frame(Frame::of(holds.iter().map(Hold::node).cloned()))
}

fn inside_term(term: &Arc<dyn Leading>, body: &Arc<()>) -> Scope {
    with_frame(Frame::Term { body: Arc::downgrade(body), term: Arc::downgrade(term) })
}

fn with_frame(frame: Frame) -> Scope {
    Scope { visit: None, frames: current().into_frames().with(frame) }
}

fn current() -> Scope {
    SCOPE.try_with(Clone::clone).unwrap_or_default()
}

impl Scope {
    /// Returns the list of what is around a call, to which more is added.
    fn into_frames(self) -> Chain<Frame> {
        let Self { visit, frames } = self;
        match visit.and_then(|visit| visit.node()) {
            Some(node) => frames.with(Frame::Lock(node)),
            None => frames,
        }
    }
}

/// Returns the span for a body under these holds, which is that of the last one. A body that is inside of a later span
/// than that, such as the body of a call that has entered the lock again, stays there.
fn around(holds: &[Hold]) -> Span {
    holds.iter().rev().find_map(Hold::span_for_body).unwrap_or_else(Span::none)
}

/// Returns the innermost hold of the current call that is related to an entry of this lock, and the relation.
pub(super) fn nearest(client: &Client, lock: (&NodePath, Entry)) -> Option<(Arc<Node>, Relation)> {
    // Cloned, because other code may enter scopes.
    let found = |node: &Arc<Node>, relation| (node.clone(), relation);
    look_for(client, lock, found)
}

/// Admits an entry into the innermost hold of the current call that is related to it, if that is an entry again, the lock
/// is held and nothing is in the way. Returns the ties of that hold.
#[inline]
pub(super) fn admitted(client: &Client, lock: (&NodePath, Entry)) -> Option<(Arc<Ties>, Again)> {
    let admit = |node: &Arc<Node>, relation| match relation {
        Relation::Again(again) => node.admit(again).map(|ties| (ties, again)),
        Relation::Upgrade | Relation::Reentrant => None,
    };
    look_for(client, lock, admit).flatten()
}

/// Calls a function with the innermost hold of the current call that is related to an entry of this lock. The function
/// must not run other code, which may enter scopes.
#[inline]
fn look_for<T>(
    client: &Client,
    lock: (&NodePath, Entry),
    found: impl Fn(&Arc<Node>, Relation) -> T,
) -> Option<T> {
    if let Some(node) = visited(client, lock.0)
        && let Some(relation) = node.relation(client, lock)
    {
        return Some(found(&node, relation));
    }
    let nearest = |scope: &Scope| {
        let mut nodes = scope.frames.iter().flat_map(Frame::nodes);
        nodes.find_map(|node| node.relation(client, lock).map(|relation| found(node, relation)))
    };
    SCOPE.try_with(nearest).ok().flatten()
}

/// Returns the node of the innermost hold of the current call if it is a visit of this lock.
#[inline]
fn visited(client: &Client, path: &NodePath) -> Option<Arc<Node>> {
    let visit =
        |scope: &Scope| scope.visit.as_ref().filter(|visit| visit.outer().is_at(client, path)).cloned();
    SCOPE.try_with(visit).ok().flatten()?.node()
}

/// Returns the length of the current call's list.
#[cfg(test)]
pub(crate) fn length() -> usize {
    current().into_frames().iter().count()
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
        tokio::spawn(generation(client.mutex("/a").unwrap(), told, (1_000, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} holds, of which one is not over");
    }
}
