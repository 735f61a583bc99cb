//! The task-local scope that carries the holds of a logical call.

use std::future::Future;
use std::sync::{Arc, Weak};

use crate::client::Client;

use super::Hold;
use super::chain::Chain;
use super::door::Door;
use super::entry::Relation;

tokio::task_local! {
    /// The holds of the call that is being polled.
    static SCOPE: Chain<Weak<Hold>>;
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
fn inside(holds: &[Arc<Hold>]) -> Chain<Weak<Hold>> {
    holds.iter().fold(current(), |outer, hold| outer.with(Arc::downgrade(hold)))
}

fn current() -> Chain<Weak<Hold>> {
    SCOPE.try_with(Clone::clone).unwrap_or_default()
}

/// Returns the innermost hold of the current call that is related to an entry of this lock, and the relation.
pub(super) fn nearest(client: &Client, door: &Door) -> Option<(Arc<Hold>, Relation)> {
    current().iter().find_map(|hold| {
        let hold = hold.upgrade()?;
        let is_same = hold.tenure().path() == &door.path && hold.client.is_same(client);
        let relation = Relation::of(hold.entry, door.entry).filter(|_| is_same)?;
        Some((hold, relation))
    })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::sync::oneshot;
    use zklock_testkit::EmbeddedServer;

    use super::*;
    use crate::{Config, Mutex};

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
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let ((tell, told), (done, longest)) = (oneshot::channel(), oneshot::channel());
        tell.send(()).unwrap();
        tokio::spawn(generation(client.mutex("/a").unwrap(), told, (1_000, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} holds, of which one is not over");
    }
}
