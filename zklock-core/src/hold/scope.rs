//! The scope that carries the holds of a logical call: that of the call which this thread runs at present.

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use tracing::Span;

use crate::lease::Tenure;

use super::Hold;
use super::chain::Chain;
use super::entry::{Again, Relation};
use super::held::{Frame, Held, Leading};
use super::node::{Node, Ties};
use super::sought::Sought;
use super::visit::Visit;

thread_local! {
    /// The locks and terms of the call that is being polled.
    static SCOPE: RefCell<Scope> = const { RefCell::new(Scope::OUTSIDE) };
}

/// The locks and terms around a call.
#[derive(Clone)]
pub(super) struct Scope {
    /// The innermost one, if it is an entry into a lock that the call has entered before, and was alone there.
    visit: Option<Visit>,
    frames: Chain<Frame>,
}

/// Returns the locks and terms of the current call that have not ended, beginning with the innermost.
pub(crate) fn held() -> impl Iterator<Item = Held> {
    let Scope { visit, frames } = current();
    let visit = visit.and_then(|visit| visit.node()).map(Frame::Lock);
    let held: Vec<_> = visit.iter().chain(frames.iter()).filter_map(Frame::held).collect();
    held.into_iter()
}

/// Returns the scope of the current call with these holds in it.
pub(super) fn inside(holds: &[Hold]) -> Scope {
    if let [hold] = holds
        && let Some(visit) = hold.visit()
    {
        return Scope { visit: Some(visit), frames: current().into_frames() };
    }
    with_frame(Frame::of(holds.iter().map(Hold::node).cloned()))
}

pub(super) fn inside_term(term: &Arc<dyn Leading>, body: &Arc<()>) -> Scope {
    with_frame(Frame::Term { body: Arc::downgrade(body), term: Arc::downgrade(term) })
}

fn with_frame(frame: Frame) -> Scope {
    Scope { visit: None, frames: current().into_frames().with(frame) }
}

/// Returns the scope of the current call, which can be carried elsewhere.
pub(super) fn current() -> Scope {
    SCOPE.try_with(|scope| scope.borrow().clone()).unwrap_or(Scope::OUTSIDE)
}

impl Scope {
    const OUTSIDE: Self = Self { visit: None, frames: Chain::EMPTY };

    /// Returns the list of what is around a call, to which more is added.
    fn into_frames(self) -> Chain<Frame> {
        let Self { visit, frames } = self;
        match visit.and_then(|visit| visit.node()) {
            Some(node) => frames.with(Frame::Lock(node)),
            None => frames,
        }
    }

    /// Calls a function with the innermost hold, besides the visit, that is related to an entry of this lock.
    #[inline]
    fn look_for<T>(&self, sought: Sought<'_>, found: impl Fn(&Arc<Node>, Relation) -> T) -> Option<T> {
        for frame in self.frames.iter() {
            for node in frame.nodes() {
                if let Some(relation) = node.relation(sought) {
                    return Some(found(node, relation));
                }
            }
        }
        None
    }
}

/// The scope of a body, while the thread is outside of it. Inside, it keeps what the thread had before.
pub(super) enum Stay {
    /// A scope that is carried with the body.
    Carried(Scope),
    /// A visit that has not been entered before, or is being entered for the first time, in the scope around it. A body
    /// that ends in its first step needs no list of its own.
    Here(Option<Visit>),
}

impl Stay {
    /// Returns the place of a body that begins at once, inside of these holds.
    pub(super) fn at_once(holds: &[Hold]) -> Self {
        match holds {
            [hold] => hold.visit().map(|visit| Self::Here(Some(visit))),
            _ => None,
        }
        .unwrap_or_else(|| Self::Carried(inside(holds)))
    }

    /// Makes this the scope of the current call until the returned value is dropped.
    #[inline]
    pub(super) fn enter(&mut self) -> Entered<'_> {
        if !self.swap() {
            self.carry();
            self.swap();
        }
        Entered(self)
    }

    /// Prepares the scope for a step that may be taken elsewhere.
    pub(super) fn carry(&mut self) {
        if let Self::Here(visit) = self {
            *self = Self::Carried(Scope { visit: visit.take(), frames: current().into_frames() });
        }
    }

    /// Exchanges this scope with that of the thread. Returns `false` if there is a visit already around the visit.
    fn swap(&mut self) -> bool {
        let swapped = SCOPE.try_with(|scope| {
            let scope = &mut *scope.borrow_mut();
            match self {
                Self::Carried(own) => mem::swap(scope, own),
                Self::Here(Some(_)) if scope.visit.is_some() => return false,
                Self::Here(visit) => mem::swap(&mut scope.visit, visit),
            }
            true
        });
        // A thread that ends has no scope any more.
        swapped.unwrap_or(true)
    }
}

/// The stay of a thread in a scope.
pub(super) struct Entered<'a>(&'a mut Stay);

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.swap();
    }
}

/// Returns the span for a body under these holds, which is that of the last one. A body that is inside of a later span
/// than that, such as the body of a call that has entered the lock again, stays there.
#[inline]
pub(super) fn around(holds: &[Hold]) -> Span {
    holds.iter().rev().find_map(Hold::span_for_body).unwrap_or_else(Span::none)
}

/// Returns the innermost hold of the current call that is related to an entry of this lock, and the relation.
pub(super) fn nearest(sought: Sought<'_>) -> Option<(Arc<Node>, Relation)> {
    // Cloned, because other code may enter scopes.
    let found = |node: &Arc<Node>, relation| (node.clone(), relation);
    look_for(sought, found)
}

/// Admits an entry into the innermost hold of the current call that is related to it, if that is an entry again, the lock
/// is held and nothing is in the way. Returns the ties of that hold.
#[inline]
pub(super) fn admitted(sought: Sought<'_>, is_held: impl Fn(&Tenure) -> bool) -> Option<(Arc<Ties>, Again)> {
    let admit = |node: &Arc<Node>, relation| match relation {
        Relation::Again(again) => node.admit(again, &is_held).map(|ties| (ties, again)),
        Relation::Upgrade | Relation::Reentrant => None,
    };
    look_for(sought, admit).flatten()
}

/// Calls a function with the innermost hold of the current call that is related to an entry of this lock. The function
/// must not run other code, which may enter scopes.
#[inline]
fn look_for<T>(sought: Sought<'_>, found: impl Fn(&Arc<Node>, Relation) -> T) -> Option<T> {
    let innermost = with_scope(|scope| match &scope.visit {
        Some(visit) if visit.outer().is_at(sought) => Some(Err(visit.clone())),
        _ => scope.look_for(sought, &found).map(Ok),
    });
    match innermost? {
        Ok(found) => Some(found),
        Err(visit) => {
            // Outside of the scope, as the node of the visit may have to be made.
            if let Some(node) = visit.node()
                && let Some(relation) = node.relation(sought)
            {
                return Some(found(&node, relation));
            }
            with_scope(|scope| scope.look_for(sought, &found))
        }
    }
}

#[inline]
fn with_scope<T>(look: impl FnOnce(&Scope) -> Option<T>) -> Option<T> {
    SCOPE.try_with(|scope| look(&scope.borrow())).ok().flatten()
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
    use crate::hold::inherit;

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
