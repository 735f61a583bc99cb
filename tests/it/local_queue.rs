//! The calls of one client at one lock, which share its contender.

mod endings;
mod stress;

use tokio::task::JoinHandle;
use zklock::{Client, MutexGuard};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{self, Space, until};

pub(super) const PATH: &str = "/local-queue";

/// Waits for the lock in a task.
pub(super) fn spawn_lock(client: &Client) -> JoinHandle<MutexGuard> {
    support::spawn_lock(client, PATH)
}

/// Takes the lock, and lets another call of the client wait for it.
pub(super) async fn lock_and_wait_behind(client: &Client) -> (MutexGuard, JoinHandle<MutexGuard>) {
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let waiting = spawn_lock(client);
    until_in_line(client, 1).await;
    (guard, waiting)
}

/// Waits until this many calls of the client wait in its line.
pub(super) async fn until_in_line(client: &Client, count: u32) {
    support::until_in_line(&client.mutex(PATH).unwrap(), count).await;
}

/// Returns the number of creates, lists and deletes, which are neither heartbeats nor watches.
pub(crate) fn requests_for_locks(proxy: &Proxy) -> [u64; 3] {
    [Opcode::CREATE2, Opcode::GET_CHILDREN, Opcode::DELETE].map(|opcode| proxy.requests(opcode))
}

/// Waits until the holder's client knows that others wait: it watches the holder's node itself then.
///
/// A client that saw the others in its list watches the children only, until they change.
pub(crate) async fn until_accompanied(space: &Space, client: &Client, path: &str) {
    let session = client.session_id().unwrap();
    let mut nodes = space.children(path).await;
    nodes.sort_unstable_by_key(|node| node[node.len() - 10..].to_owned());
    let own = space.full(&format!("{path}/{}", nodes[0]));
    let is_watched = || async {
        space.change_children(path).await;
        space.server().watchers(&own).contains(&session)
    };
    until(is_watched, "the client watches the holder's node").await;
}
