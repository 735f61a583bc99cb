//! The calls of one client at one lock, which share its contender, and those that end early.

mod stress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, LockError, MutexGuard, Queueing};
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

#[test]
fn a_grant_goes_on_from_a_runtime_that_is_gone() {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let space = Space::new();
    let (client, guard, last) = runtime.block_on(async {
        let client = space.client().await;
        let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
        (client.clone(), guard, spawn_lock(&client))
    });
    let gone = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(until_in_line(&client, 1));
    // These calls wait in a runtime that does not run, and then is dropped.
    let calls = 1_000;
    gone.block_on(async {
        for _ in 0..calls {
            drop(spawn_lock(&client));
        }
        until_in_line(&client, calls + 1).await;
    });
    let behind = {
        let _inside = runtime.enter();
        spawn_lock(&client)
    };
    runtime.block_on(until_in_line(&client, calls + 2));
    runtime.block_on(async {
        guard.release().await.unwrap();
        soon(last).await.unwrap().release().await.unwrap();
    });
    assert!(!behind.is_finished(), "the lock is on its way to a call that does not run");
    drop(gone);
    runtime.block_on(async {
        soon(behind).await.unwrap().release().await.unwrap();
        space.until_empty(PATH).await;
    });
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
async fn a_call_whose_time_is_over_when_the_lock_comes_free_has_it_or_leaves_it_to_the_next() {
    const WAIT: Duration = Duration::from_millis(4);
    const STEP: Duration = Duration::from_micros(1);
    let (space, client) = Space::with_client().await;
    let mutex = client.mutex(PATH).unwrap();
    let (mut granted, mut late) = (0_u32, 0_u32);
    for round in 0..4_000 {
        let guard = mutex.lock().await.unwrap();
        let waiter = mutex.clone();
        let begun = Instant::now();
        let waiting = tokio::spawn(async move { waiter.lock_timeout(WAIT).await });
        // The pause closes in on the moment at which either may happen.
        let pause = (WAIT + 20 * STEP * granted).saturating_sub(20 * STEP * late);
        while begun.elapsed() < pause {
            tokio::task::yield_now().await;
        }
        guard.release().await.unwrap();
        match soon(waiting).await.unwrap() {
            Ok(guard) => {
                granted += 1;
                guard.release().await.unwrap();
            }
            Err(error) => {
                assert!(matches!(error, LockError::Timeout { .. }), "{round}: {error}");
                late += 1;
            }
        }
        if granted > 50 && late > 50 {
            break;
        }
    }
    assert!(granted > 50 && late > 50, "{granted} had the lock, and {late} were late");
    space.until_empty(PATH).await;
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
