//! The calls of one client at one lock, which share its contender.

mod endings;
mod fairness;
mod stress;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, MutexGuard};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{self, Space, soon, until};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_tasks_take_one_lock_with_one_node_and_hardly_a_request() {
    const TASKS: usize = 1_000;
    let (space, proxy, client) = Space::with_proxy().await;
    let (counter, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    for _ in 0..TASKS {
        let (mutex, counter) = (client.mutex(PATH).unwrap(), counter.clone());
        tasks.spawn(async move {
            let mut tokens = Vec::new();
            for _ in 0..3 {
                let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
                let before = counter.load(Ordering::SeqCst);
                tokio::task::yield_now().await;
                counter.store(before + 1, Ordering::SeqCst);
                tokens.push((before, guard.fencing_token()));
                guard.release().await.unwrap();
            }
            tokens
        });
    }
    until_in_line(&client, TASKS as u32).await;
    assert_eq!(space.children(PATH).await.len(), 1);
    let (requests, first) = (proxy.requests_total(), guard.fencing_token());
    guard.release().await.unwrap();
    let mut tokens: Vec<_> = soon(tasks.join_all()).await.concat();
    tokens.sort_unstable();
    let in_order: Vec<_> = tokens.iter().map(|(_, token)| *token).collect();
    assert!(in_order.is_sorted_by(|a, b| a < b), "tokens rise strictly in the order of the holders");
    assert!(first < in_order[0]);
    assert_eq!(counter.load(Ordering::SeqCst), 3 * TASKS);
    let requests = proxy.requests_total() - requests;
    assert!(requests <= 3 * TASKS as u64 / 5, "{requests} requests");
    space.until_empty(PATH).await;
}

#[tokio::test]
async fn a_try_that_others_are_in_front_of_leaves_no_trace_and_keeps_the_place_of_a_call_that_waits() {
    let (space, [holder, client]) = Space::with_clients().await;
    let guard = holder.mutex(PATH).unwrap().lock().await.unwrap();
    let mutex = client.mutex(PATH).unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert_eq!(space.children(PATH).await.len(), 1);
    let waiting = spawn_lock(&client);
    space.until_queued(PATH, 2).await;
    let place = space.children(PATH).await;
    assert!(mutex.try_lock().await.unwrap().is_none());
    let mut after = space.children(PATH).await;
    after.sort_unstable();
    let mut before = place;
    before.sort_unstable();
    assert_eq!(after, before);
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().release().await.unwrap();
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
