//! The scope that carries the holds of a logical call: that of the call which this thread runs at present.

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use crate::client::ClientId;
use crate::lease::Tenure;

use super::chain::Chain;
use super::entry::{Again, Entry, Relation};
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
    innermost: Innermost,
    frames: Chain<Frame>,
}

/// The innermost lock around a call, if it is an entry into a lock that the call has entered before, and was alone there.
#[derive(Clone)]
enum Innermost {
    Framed,
    Visit(Visit),
    /// The visit of the hold that is a frame of its own. It counts no reference to that hold.
    OfFrame {
        /// The number of frames inside of that one.
        depth: usize,
        /// The number of visits of the hold that were seen and had ended before.
        nth: u64,
    },
}

/// Returns the locks and terms of the current call that have not ended, beginning with the innermost.
pub(crate) fn held() -> impl Iterator<Item = Held> {
    let scope = current();
    let visit = scope.visit().and_then(|visit| visit.node()).map(Frame::Lock);
    let held: Vec<_> = visit.iter().chain(scope.frames.iter()).filter_map(Frame::held).collect();
    held.into_iter()
}

/// Returns the scope of the current call with the present visit of this hold in it. No reference to it outlives the visit.
pub(super) fn within_visit(outer: &Arc<Node>) -> Scope {
    Scope { innermost: Innermost::Visit(Visit::present(outer)), frames: current().into_frames() }
}

pub(super) fn inside_term(term: &Arc<dyn Leading>, body: &Arc<()>) -> Scope {
    with_frame(Frame::Term { body: Arc::downgrade(body), term: Arc::downgrade(term) })
}

/// Returns the scope of the current call with this frame in it.
pub(super) fn with_frame(frame: Frame) -> Scope {
    Scope { innermost: Innermost::Framed, frames: current().into_frames().with(frame) }
}

/// Returns the scope of the current call, which can be carried elsewhere.
pub(super) fn current() -> Scope {
    SCOPE.try_with(|scope| scope.borrow().clone().seen()).unwrap_or(Scope::OUTSIDE)
}

impl Scope {
    const OUTSIDE: Self = Self { innermost: Innermost::Framed, frames: Chain::EMPTY };

    /// Returns the innermost hold if it is a visit.
    fn visit(&self) -> Option<Visit> {
        match &self.innermost {
            Innermost::Framed => None,
            Innermost::Visit(visit) => Some(visit.clone()),
            Innermost::OfFrame { depth, nth } => Some(Visit::new(self.at(*depth)?, *nth)),
        }
    }

    /// Returns the hold around the visit.
    #[inline]
    fn visited(&self) -> Option<&Arc<Node>> {
        match &self.innermost {
            Innermost::Framed => None,
            Innermost::Visit(visit) => Some(visit.outer()),
            Innermost::OfFrame { depth, .. } => self.at(*depth),
        }
    }

    /// Returns the hold that is the frame inside of which this many others are.
    #[inline]
    fn at(&self, depth: usize) -> Option<&Arc<Node>> {
        self.frames.iter().nth(depth)?.lock()
    }

    /// Prepares the scope to be referred to after the visit.
    pub(super) fn seen(self) -> Self {
        if let Some(outer) = self.visited() {
            outer.visits.see();
        }
        self
    }

    /// Returns the list of what is around a call, to which more is added.
    fn into_frames(self) -> Chain<Frame> {
        match self.visit().and_then(|visit| visit.node()) {
            Some(node) => self.frames.with(Frame::Lock(node)),
            None => self.frames,
        }
    }

    /// Calls a function with the innermost hold, besides the visit, that is related to an entry of this lock.
    #[inline(always)]
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

    /// Makes the present visit of this hold the innermost one. Returns `false` if there is a visit already.
    #[inline(always)]
    fn visits(&mut self, outer: &Arc<Node>) -> bool {
        let Innermost::Framed = self.innermost else { return false };
        let is_outer = |frame: &Frame| frame.lock().is_some_and(|node| Arc::ptr_eq(node, outer));
        self.innermost = match self.frames.iter().position(is_outer) {
            Some(depth) => Innermost::OfFrame { depth, nth: outer.visits.ended() },
            None => Innermost::Visit(Visit::present(outer)),
        };
        true
    }
}

/// Makes this the scope of the current call until the returned value is dropped. Meanwhile, it keeps the one before.
#[inline]
pub(super) fn enter(scope: &mut Scope) -> Entered<'_> {
    change(|present| mem::swap(present, scope));
    Entered::Swapped(scope)
}

/// Makes the present visit of this hold a part of the current call until the returned value is dropped. Returns `None` if
/// there is a visit around it.
#[inline]
pub(super) fn visit(outer: &Arc<Node>) -> Option<Entered<'static>> {
    change(|present| present.visits(outer)).then(|| Entered::Visiting)
}

/// Enters a mutex again, as [`admitted`] does, unless the current call is inside of a visit already. Makes the
/// entry a part of the current call, until [`unvisit`] or [`leave_visit`]. Returns the ties of the hold around it, and the
/// number of frames inside of that hold.
#[inline(always)]
pub(super) fn visit_again(client: ClientId, path: &str) -> Option<(Arc<Ties>, usize)> {
    change(|scope| {
        let Innermost::Framed = scope.innermost else { return None };
        let sought = Sought::new(client, path, Entry::Mutex);
        let is_sought = |hold: &Arc<Node>| hold.relation(sought) == Some(Relation::Again(Again::Alone));
        let mut frames = scope.frames.iter().enumerate();
        let (depth, frame) = frames.find(|(_, frame)| frame.nodes().iter().any(is_sought))?;
        let hold = frame.lock()?;
        let (ties, nth) = (hold.admit(Again::Alone, Tenure::is_held)?, hold.visits.ended());
        scope.innermost = Innermost::OfFrame { depth, nth };
        Some((ties, depth))
    })
}

/// Makes the present visit no part of the current call any more.
pub(super) fn unvisit() {
    change(|scope| scope.innermost = Innermost::Framed);
}

/// The stay of a thread in a scope.
pub(super) enum Entered<'a> {
    Swapped(&'a mut Scope),
    Visiting,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        change(|present| match self {
            Self::Swapped(scope) => mem::swap(present, scope),
            Self::Visiting => present.innermost = Innermost::Framed,
        });
    }
}

/// Changes the scope of this thread. A thread that ends has none any more.
#[inline]
fn change<T: Default>(change: impl FnOnce(&mut Scope) -> T) -> T {
    SCOPE.try_with(|scope| change(&mut scope.borrow_mut())).unwrap_or_default()
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

/// Ends an entry alone of the hold with these ties. If the current call is inside of that hold, they stay there for the next
/// entry. Returns them otherwise.
#[inline]
pub(super) fn leave_alone(ties: Arc<Ties>) -> Option<Arc<Ties>> {
    leave(ties, |scope, ties| {
        let mut holds = scope.frames.iter().flat_map(Frame::nodes);
        holds.find(|hold| Arc::ptr_eq(hold, &ties.node))
    })
}

/// Ends the visit that [`visit_again`] has begun, as [`leave_alone`] does.
#[inline(always)]
pub(super) fn leave_visit(ties: Arc<Ties>, depth: usize) -> Option<Arc<Ties>> {
    leave(ties, |scope, ties| {
        scope.innermost = Innermost::Framed;
        scope.at(depth).filter(|hold| Arc::ptr_eq(hold, &ties.node))
    })
}

/// Ends an entry alone of the hold with these ties. They stay in that hold, if it is found in the scope of the current call.
#[inline(always)]
fn leave(
    ties: Arc<Ties>,
    find: impl for<'a> FnOnce(&'a mut Scope, &Ties) -> Option<&'a Arc<Node>>,
) -> Option<Arc<Ties>> {
    // Ties are not dropped while the scope changes, because their end may run other code.
    let mut ties = Some(ties);
    let left = change(|scope| {
        // The scope keeps the hold, whose ties may end meanwhile.
        let hold = find(scope, ties.as_deref()?)?;
        ties.take().map(|ties| hold.gate.leave_pass(ties))
    });
    if let Some(ties) = &ties {
        ties.node.gate.leave(Again::Alone);
    }
    left.flatten().or(ties)
}

/// Calls a function with the innermost hold of the current call that is related to an entry of this lock. The function
/// must not run other code, which may enter scopes.
#[inline(always)]
fn look_for<T>(sought: Sought<'_>, found: impl Fn(&Arc<Node>, Relation) -> T) -> Option<T> {
    let innermost = with_scope(|scope| match scope.visited() {
        Some(outer) if outer.is_at(sought) => scope.visit().map(Err),
        _ => scope.look_for(sought, &found).map(Ok),
    });
    match innermost? {
        Ok(found) => Some(found),
        Err(visit) => look_from(&visit, sought, found),
    }
}

/// Calls a function as [`look_for`] does, beginning with this visit. It is a function of its own, so that the look for other
/// holds is inlined. The node of the visit may have to be made, which happens outside of the scope.
#[inline(never)]
fn look_from<T>(visit: &Visit, sought: Sought<'_>, found: impl Fn(&Arc<Node>, Relation) -> T) -> Option<T> {
    if let Some(node) = visit.node()
        && let Some(relation) = node.relation(sought)
    {
        return Some(found(&node, relation));
    }
    with_scope(|scope| scope.look_for(sought, &found))
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
        let generations = if cfg!(soak) { 1_000 } else { 200 };
        tokio::spawn(generation(client.mutex("/a").unwrap(), told, (generations, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} holds, of which one is not over");
    }
}
