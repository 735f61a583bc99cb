//! The task-local scope that carries the holds of a logical call.

use std::future::Future;
use std::sync::{Arc, Weak};

use crate::client::Client;

use super::Hold;
use super::door::Door;
use super::entry::Relation;

tokio::task_local! {
    /// The innermost scope of the call that is being polled.
    static SCOPE: Option<Arc<Scope>>;
}

struct Scope {
    hold: Weak<Hold>,
    outer: Option<Arc<Self>>,
}

/// Runs a future inside these holds.
pub(crate) fn scope<F: Future>(holds: &[Arc<Hold>], future: F) -> impl Future<Output = F::Output> + use<F> {
    SCOPE.scope(inside(holds), future)
}

/// Calls a function inside these holds.
pub(crate) fn scope_blocking<T>(holds: &[Arc<Hold>], function: impl FnOnce() -> T) -> T {
    SCOPE.sync_scope(inside(holds), function)
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

/// Returns the scope of the current call with these holds in it.
fn inside(holds: &[Arc<Hold>]) -> Option<Arc<Scope>> {
    let enter = |outer, hold| Some(Arc::new(Scope { hold: Arc::downgrade(hold), outer }));
    holds.iter().fold(current(), enter)
}

fn current() -> Option<Arc<Scope>> {
    SCOPE.try_with(Clone::clone).ok().flatten()
}

/// Returns the innermost hold of the current call that is related to an entry of this lock, and the relation.
pub(super) fn nearest(client: &Client, door: &Door) -> Option<(Arc<Hold>, Relation)> {
    let mut scope = current();
    while let Some(inner) = scope {
        if let Some(hold) = inner.hold.upgrade()
            && hold.tenure().path() == &door.path
            && hold.client.is_same(client)
            && let Some(relation) = Relation::of(hold.entry, door.entry)
        {
            return Some((hold, relation));
        }
        scope = inner.outer.clone();
    }
    None
}
