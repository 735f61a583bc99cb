//! The calls of one client at one lock, which share its contender, and those that end early.

pub(crate) mod stress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, MutexGuard, Queueing};
use zklock_testkit::Proxy;
use zklock_testkit::wire::Opcode;

use crate::support::{self, SOON, Space, ephemeral, soon, until};

const PATH: &str = "/local-queue";

fn spawn_lock(client: &Client) -> JoinHandle<MutexGuard> {
    support::spawn_lock(client, PATH)
}

async fn until_in_line(client: &Client, count: u32) {
    support::until_in_line(&client.mutex(PATH).unwrap(), count).await;
}

/// Returns the number of creates, lists and deletes, which are neither heartbeats nor watches.
pub(crate) fn requests_for_locks(proxy: &Proxy) -> [u64; 3] {
    [Opcode::CREATE2, Opcode::GET_CHILDREN, Opcode::DELETE].map(|opcode| proxy.requests(opcode))
}

/// Waits until the holder's client knows that others wait: it watches the holder's node itself then.
///
/// A client that has listed the queue while it holds the lock watches the children only, until they change.
pub(crate) async fn until_accompanied(space: &Space, client: &Client, path: &str) {
    let session = client.session_id().unwrap();
    let mut nodes = space.children(path).await;
    nodes.sort_unstable_by_key(|node| node[node.len() - 10..].to_owned());
    let own = space.full(&format!("{path}/{}", nodes[0]));
    let is_watched = || async {
        // A node that is no contender's comes and goes, so that watches on the children fire.
        let (stranger, outsider) = (space.full(&format!("{path}/stranger")), space.outsider().await);
        outsider.create(&stranger, b"", &ephemeral()).await.unwrap();
        outsider.delete(&stranger, None).await.unwrap();
        space.server().watchers(&own).contains(&session)
    };
    until(is_watched, "the client watches the holder's node").await;
}

#[tokio::test]
async fn a_holder_that_does_not_listen_for_requests_does_not_pass_the_lock_on_either() {
    let space = Space::new();
    // No bound ends the turn of the client.
    let queueing = Queueing::new(64, Duration::from_secs(60));
    let (proxy, client) = space.proxied_with(|config| config.queueing(queueing)).await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let waiting = spawn_lock(&client);
    until_in_line(&client, 1).await;
    let other = space.client().await;
    let behind = spawn_lock(&other);
    // Other contenders make the client watch its own node.
    until_accompanied(&space, &client, PATH).await;
    let asked = client.mutex(PATH).unwrap().participants().await.unwrap().remove(0);
    let reads = proxy.replies(Opcode::GET_DATA);
    other.revoke(&asked).await.unwrap();
    until(async || proxy.replies(Opcode::GET_DATA) > reads, "the client reads its node").await;
    // Answers are handled in their order.
    client.mutex(PATH).unwrap().participants().await.unwrap();
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let guard = soon(behind).await.unwrap();
    assert!(guard.fencing_token() > token && !waiting.is_finished());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_line_begins_its_body_although_the_task_before_it_goes_on_computing() {
    let client = Space::new().client().await;
    let mutex = client.mutex(PATH).unwrap();
    let (next, has_begun) = (mutex.clone(), Arc::new(AtomicBool::new(false)));
    let begins = has_begun.clone();
    let mut tasks = JoinSet::new();
    let first = mutex.run(async |_| {
        tasks.spawn(async move {
            next.run(async |_| begins.store(true, Ordering::SeqCst)).await.unwrap();
        });
        until_in_line(&client, 1).await;
    });
    first.await.unwrap();
    let deadline = Instant::now() + SOON;
    while !has_begun.load(Ordering::SeqCst) {
        assert!(Instant::now() < deadline, "the next body waits for this task");
        std::hint::spin_loop();
    }
    soon(tasks.join_all()).await;
}
