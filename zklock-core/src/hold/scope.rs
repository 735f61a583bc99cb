//! The task-local scope that carries the holds of a logical call.

use std::future::Future;
use std::sync::{Arc, Weak};

use crate::client::Client;

use super::Hold;
use super::door::Door;
use super::entry::Relation;

tokio::task_local! {
    /// The innermost hold of the call that is being polled.
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

/// Runs a future with what the current call holds, for where a task is spawned on its behalf.
///
/// A task that is spawned in another way is a stranger, and excluded like one.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    SCOPE.scope(current(), future)
}

/// The scope of the current call with these holds in it.
fn inside(holds: &[Arc<Hold>]) -> Option<Arc<Scope>> {
    let enter = |outer, hold| Some(Arc::new(Scope { hold: Arc::downgrade(hold), outer }));
    holds.iter().fold(current(), enter)
}

fn current() -> Option<Arc<Scope>> {
    SCOPE.try_with(Clone::clone).ok().flatten()
}

/// The innermost hold in the current call that has to do with this lock, and what.
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
