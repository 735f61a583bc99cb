//! The contract of the mutex that is not reentrant.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, FencingToken, LockError, LossReason, Mode, Mutex, MutexGuard, Standing};

use crate::support::{Space, assert_waited, failed, soon, until_in_line};

const PATH: &str = "/ledgers/1";
const GATE: &str = "/ledgers/1/locks";
const LEASES: &str = "/ledgers/1/leases";
/// A wait in which a contender enters the queue even on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn exclusive(client: &Client) -> Mutex {
    client.exclusive(PATH).unwrap()
}

async fn lock(client: &Client) -> MutexGuard {
    soon(exclusive(client).lock_timeout(Duration::MAX)).await.unwrap()
}

fn spawn_lock(client: &Client) -> JoinHandle<Result<MutexGuard, LockError>> {
    let mutex = exclusive(client);
    tokio::spawn(async move { mutex.lock_timeout(Duration::MAX).await })
}

async fn until_nothing_is_left(space: &Space) {
    space.until_empty(LEASES).await;
    space.until_empty(GATE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_exclude_each_other_across_clients_and_their_tokens_rise() {
    let space = Space::new();
    let (inside, tokens) = (Arc::new(AtomicBool::new(false)), Arc::new(std::sync::Mutex::new(Vec::new())));
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let mutex = exclusive(&space.client().await);
        for _ in 0..4 {
            let (mutex, inside, tokens) = (mutex.clone(), inside.clone(), tokens.clone());
            tasks.spawn(async move {
                let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two hold at the same time");
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                tokens.lock().unwrap().push(guard.fencing_token());
                inside.store(false, Ordering::SeqCst);
                guard.release().await.unwrap();
            });
        }
    }
    soon(tasks.join_all()).await;
    let tokens: Vec<FencingToken> = tokens.lock().unwrap().clone();
    assert_eq!(tokens.len(), 12);
    assert!(tokens.is_sorted(), "{tokens:?}");
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn entering_again_in_one_call_is_an_error_and_no_deadlock() {
    let space = Space::new();
    let client = space.client().await;
    let mutex = exclusive(&client);
    let guard = mutex.lock().await.unwrap();
    let waiting = spawn_lock(&client);
    until_in_line(&mutex, 1).await;
    guard
        .scope(async {
            let again = [
                failed(soon(mutex.lock_timeout(Duration::MAX)).await),
                failed(soon(mutex.try_lock()).await),
                failed(soon(mutex.run(async |_| ())).await),
                // Another handle on the same path is the same lock.
                failed(soon(exclusive(&client).lock()).await),
                failed(soon(client.lock_all([zklock::Member::exclusive(PATH)])).await),
            ];
            for error in again {
                assert!(matches!(&error, LockError::Reentrant { path, .. } if path == PATH), "{error}");
                assert!(error.is_invalid());
            }
            // A deeper level of the call is refused too.
            let other = client.mutex("/ledgers/2").unwrap();
            let error = failed(other.run(async |_| mutex.lock().await).await.unwrap());
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            let (heir, mutex) = (client.clone(), mutex.clone());
            let error = failed(zklock::spawn(async move { exclusive(&heir).lock().await }).await.unwrap());
            assert!(matches!(error, LockError::Reentrant { .. }), "{error}");
            drop(mutex);
        })
        .await;
    assert_eq!(space.children(LEASES).await.len(), 1);
    assert!(guard.is_held());
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn outside_of_its_scope_it_waits_like_a_stranger() {
    let space = Space::new();
    let client = space.client().await;
    let guard = lock(&client).await;
    let error = failed(exclusive(&client).lock_timeout(SHORT).await);
    assert!(error.is_contended(), "{error}");
    assert_waited(&error, "500ms", PATH);
    let stranger = spawn_lock(&client);
    until_in_line(&exclusive(&client), 1).await;
    let scoped = guard.scope(async { tokio::spawn(async { 1 }).await.unwrap() }).await;
    assert_eq!(scoped, 1);
    guard.release().await.unwrap();
    soon(stranger).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn after_the_hold_has_ended_its_call_may_enter_again() {
    let space = Space::new();
    let client = space.client().await;
    let guard = lock(&client).await;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let later = exclusive(&client);
    let heir = guard.scope(async {
        [zklock::spawn(async move {
            ended.await.unwrap();
            later.lock().await
        })]
    });
    let [later] = heir.await;
    guard.release().await.unwrap();
    end.send(()).unwrap();
    soon(later).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_body_runs_under_it_and_is_dropped_when_it_is_lost() {
    let space = Space::new();
    let client = space.client().await;
    let mutex = exclusive(&client);
    let value = mutex.run(async |guard| {
        assert_eq!(guard.path(), PATH);
        guard.create("/ledger", "one").await.map(|()| 7)
    });
    assert_eq!(value.await.unwrap().unwrap(), 7);
    until_nothing_is_left(&space).await;
    let body = tokio::spawn(async move { mutex.run(async |_| std::future::pending::<()>().await).await });
    space.until_queued(LEASES, 1).await;
    space.until_empty(GATE).await;
    space.delete_children(LEASES).await;
    let error = failed(soon(body).await.unwrap());
    assert!(matches!(&error, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{error}");
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn a_try_takes_it_when_it_is_free_and_leaves_it_without_a_trace() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let guard = exclusive(&client).try_lock().await.unwrap().expect("it is free");
    space.until_empty(GATE).await;
    for _ in 0..5 {
        assert!(exclusive(&other).try_lock().await.unwrap().is_none());
        assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    }
    guard.release().await.unwrap();
    let guard = exclusive(&other).try_lock().await.unwrap().expect("it is free");
    drop(guard);
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn one_handle_hands_it_over_in_a_tight_loop() {
    let space = Space::new();
    let mutex = exclusive(&space.client().await);
    let loops = (0..3).map(|_| async {
        for round in 0..20 {
            let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
            assert!(guard.is_held());
            match round % 2 {
                0 => guard.release().await.unwrap(),
                _ => drop(guard),
            }
        }
    });
    soon(futures_util::future::join_all(loops)).await;
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn participants_are_the_holder_and_those_who_wait() {
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let guard = lock(&client).await;
    space.until_empty(GATE).await;
    let waiting = spawn_lock(&other);
    space.until_queued(LEASES, 2).await;
    let seen = exclusive(&client).participants().await.unwrap();
    let of = |client: &Client, standing| (client.session_id(), Mode::Exclusive, standing);
    let seen: Vec<_> = seen.iter().map(|it| (Some(it.session_id), it.mode, it.standing)).collect();
    assert_eq!(seen, [of(&client, Standing::Holds), of(&other, Standing::Waits)]);
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn what_stands_on_the_server_is_a_semaphore_of_one() {
    let space = Space::new();
    let client = space.client().await;
    let guard = lock(&client).await;
    space.until_empty(GATE).await;
    let waiting = spawn_lock(&space.client().await);
    space.until_queued(LEASES, 2).await;
    let mut children = space.children(PATH).await;
    children.sort();
    assert_eq!(children, ["leases", "locks"]);
    let outsider = space.outsider().await;
    for (parent, base) in [(GATE, "-lock-0"), (LEASES, "-lease-0")] {
        for name in space.children(parent).await {
            assert!(name.starts_with("_c_") && name.contains(base), "{name}");
        }
    }
    assert_eq!(outsider.get_data(&space.full(PATH)).await.unwrap().0, b"1");
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
    until_nothing_is_left(&space).await;
}
