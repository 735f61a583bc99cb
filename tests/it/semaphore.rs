//! The semaphore: its permits, tries, and permits that a client passes on. `contract` has what it shares with other locks.

mod fairness;
mod gate;
mod shared;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, LockError, Permission, Queueing, Semaphore, SemaphoreGuard};
use zklock_testkit::wire::Opcode;
use zookeeper_client as zk;

use crate::support::{Space, failed, persistent, sequential, soon, until_waiting_here};

const PATH: &str = "/pool";
/// The parent of the contenders at the gate, which they pass one by one.
const GATE: &str = "/pool/locks";
/// The parent of the permits, each of which has a node.
const LEASES: &str = "/pool/leases";
/// A wait in which a contender passes the gate even on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn semaphore(client: &Client, permits: u32) -> Semaphore {
    client.semaphore(PATH, permits).unwrap()
}

async fn take(semaphore: &Semaphore, permits: u32) -> SemaphoreGuard {
    soon(semaphore.acquire_many_timeout(permits, Duration::MAX)).await.unwrap()
}

type Waiting = JoinHandle<Result<SemaphoreGuard, LockError>>;

fn spawn_take(semaphore: &Semaphore, permits: u32) -> Waiting {
    let semaphore = semaphore.clone();
    tokio::spawn(async move { semaphore.acquire_many_timeout(permits, Duration::MAX).await })
}

/// Takes permits with one client, and lets another one wait behind the gate for more than are left.
async fn held_before(space: &Space, of: u32, [held, wanted]: [u32; 2]) -> (SemaphoreGuard, Waiting) {
    let guard = take(&semaphore(&space.client().await, of), held).await;
    space.until_empty(GATE).await;
    let waiting = spawn_take(&semaphore(&space.client().await, of), wanted);
    // It has the permits that are left, and one node more.
    space.until_queued(LEASES, of as usize + 1).await;
    (guard, waiting)
}

async fn until_nothing_is_left(space: &Space) {
    space.until_empty(LEASES).await;
    space.until_empty(GATE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tries_at_once_all_succeed_if_there_are_permits_for_all() {
    let space = Space::new();
    let (client, other) = (semaphore(&space.client().await, 10), semaphore(&space.client().await, 10));
    for _ in 0..3 {
        let (start, mut tasks) = (Arc::new(Barrier::new(10)), JoinSet::new());
        for number in 0..10 {
            let semaphore = if number % 2 == 0 { client.clone() } else { other.clone() };
            let start = start.clone();
            tasks.spawn(async move {
                start.wait().await;
                let begun = Instant::now();
                let taken = semaphore.try_acquire().await.unwrap();
                // A try leaves the gate if others are at it for a second.
                assert!(taken.is_some() || begun.elapsed() >= Duration::from_secs(1));
                taken
            });
        }
        let taken = soon(tasks.join_all()).await;
        if taken.iter().all(Option::is_some) {
            assert!(client.try_acquire().await.unwrap().is_none());
        }
        drop(taken);
        until_nothing_is_left(&space).await;
    }
}

#[tokio::test]
async fn a_try_of_many_takes_no_part_of_them_that_others_would_miss() {
    let space = Space::new();
    let (large, small) = (semaphore(&space.client().await, 3), semaphore(&space.client().await, 3));
    let _guard = take(&large, 2).await;
    space.until_empty(GATE).await;
    let outsider = space.outsider().await;
    let changes = async || outsider.check_stat(&space.full(LEASES)).await.unwrap().unwrap().cversion;
    let before = changes().await;
    for _ in 0..5 {
        assert!(large.try_acquire_many(2).await.unwrap().is_none());
    }
    assert_eq!(changes().await, before, "not even for a moment");
    let _last = small.try_acquire().await.unwrap().expect("one is free");
}

#[tokio::test]
async fn a_try_does_not_overtake_waiters() {
    let space = Space::new();
    let (guard, waiting) = held_before(&space, 3, [1, 3]).await;
    assert!(soon(semaphore(&space.client().await, 3).try_acquire()).await.unwrap().is_none());
    assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (4, 1));
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_try_that_may_not_list_the_permits_is_denied_and_finds_no_contention() {
    let space = Space::new();
    let outsider = space.restrict(LEASES, zk::Permission::CREATE | zk::Permission::DELETE).await;
    outsider.create(&space.full(GATE), b"", &persistent()).await.unwrap();
    // A contender that stays at the gate.
    let prefix = format!("{}/_c_{UUID}-lock-", space.full(GATE));
    outsider.create(&prefix, b"", &sequential()).await.unwrap();
    let error = failed(soon(semaphore(&space.client().await, 3).try_acquire()).await);
    assert!(matches!(&error, LockError::Denied { path, .. } if path == LEASES), "{error}");
    assert_eq!(space.children(GATE).await.len(), 1);
}

const UUID: &str = "5a7bd3a5-0b5b-4c8e-8f0c-6f5f0f7a8a11";

#[tokio::test]
async fn a_second_call_and_a_try_of_a_client_with_one_of_three_permits_get_one_each() {
    let space = Space::new();
    // No bound ends the turn of the client.
    let queueing = Queueing::new(64, Duration::from_secs(60));
    let (proxy, client) = space.proxied_with(|config| config.queueing(queueing)).await;
    let semaphore = semaphore(&client, 3);
    let first = take(&semaphore, 1).await;
    let second = take(&semaphore, 1).await;
    let third = semaphore.try_acquire().await.unwrap().expect("one is free");
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    space.until_queued(LEASES, 3).await;
    let waiting = spawn_take(&semaphore, 1);
    until_waiting_here(async || semaphore.participants().await, 1).await;
    // The client has all permits, and no contender.
    let creates = proxy.requests(Opcode::CREATE2);
    for _ in 0..100 {
        assert!(semaphore.try_acquire().await.unwrap().is_none());
    }
    assert_eq!(proxy.requests(Opcode::CREATE2), creates);
    second.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().handoff(), 1);
    for guard in [first, third, guard] {
        guard.release().await.unwrap();
    }
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn an_error_of_a_contender_is_that_of_all_calls_in_line() {
    let (space, [client, other]) = Space::with_clients().await;
    let guard = take(&semaphore(&other, 3), 1).await;
    let (release, first) = {
        // The gate is taken, so that all calls are in line when the first contender is refused.
        let inside = take(&semaphore(&other, 3), 2).await;
        let first = spawn_take(&semaphore(&other, 3), 1);
        space.until_queued(LEASES, 4).await;
        (inside, first)
    };
    let waiters = [(); 5].map(|()| spawn_take(&semaphore(&client, 2), 1));
    space.until_queued(GATE, 2).await;
    release.release().await.unwrap();
    for waiter in waiters {
        let error = failed(soon(waiter).await.unwrap());
        assert!(matches!(error, LockError::PermitsDiffer { ours: 2, theirs: 3, .. }), "{error}");
    }
    soon(first).await.unwrap().unwrap().release().await.unwrap();
    guard.release().await.unwrap();
    take(&semaphore(&client, 2), 1).await.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[track_caller]
fn check_differ(error: &LockError, expected: (u32, u32)) {
    let LockError::PermitsDiffer { path, ours, theirs, .. } = error else { panic!("{error}") };
    assert_eq!((path.as_str(), *ours, *theirs), (PATH, expected.0, expected.1));
    let text = format!("semaphore {PATH} has {} permits for others, but {} here", expected.1, expected.0);
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn another_number_of_permits_is_an_error_that_names_both_and_leaves_nothing() {
    let space = Space::new();
    let guard = take(&semaphore(&space.client().await, 3), 1).await;
    space.until_empty(GATE).await;
    let other = space.client().await;
    for (permits, wanted) in [(5, 1), (2, 2), (1, 1), (5, 5)] {
        let differing = semaphore(&other, permits);
        check_differ(&failed(soon(differing.acquire_many(wanted)).await), (permits, 3));
        assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    }
    check_differ(&failed(soon(semaphore(&other, 5).try_acquire()).await), (5, 3));
    assert_eq!((space.children(LEASES).await.len(), space.children(GATE).await.len()), (1, 0));
    assert!(guard.is_held());
    let agreeing = take(&semaphore(&other, 3), 2).await;
    agreeing.release().await.unwrap();
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn the_number_changes_when_nobody_has_a_permit() {
    let (space, [old, new]) = Space::with_clients().await;
    for permits in [3, 5, 2] {
        let guard = take(&semaphore(&new, permits), permits).await;
        check_differ(&failed(soon(semaphore(&old, 4).acquire()).await), (4, permits));
        guard.release().await.unwrap();
        until_nothing_is_left(&space).await;
    }
    take(&semaphore(&old, 4), 4).await.release().await.unwrap();
    let stated = space.outsider().await.get_data(&space.full(PATH)).await.unwrap().0;
    assert_eq!(stated, b"4");
}

#[tokio::test]
async fn data_that_is_no_number_is_left_alone_and_disturbs_nobody() {
    let (space, client) = Space::with_client().await;
    take(&semaphore(&client, 2), 1).await.release().await.unwrap();
    let outsider = space.outsider().await;
    outsider.set_data(&space.full(PATH), b"127.0.0.1", None).await.unwrap();
    let _guard = take(&semaphore(&client, 2), 2).await;
    assert!(semaphore(&client, 2).try_acquire().await.unwrap().is_none());
    assert_eq!(outsider.get_data(&space.full(PATH)).await.unwrap().0, b"127.0.0.1");
}

#[tokio::test]
async fn a_semaphore_of_one_and_a_lock_that_is_not_reentrant_exclude_each_other() {
    let (space, [client, other]) = Space::with_clients().await;
    let exclusive = other.exclusive(PATH).unwrap();
    let guard = take(&semaphore(&client, 1), 1).await;
    assert!(exclusive.try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
    let guard = exclusive.lock().await.unwrap();
    check_differ(&failed(soon(semaphore(&client, 2).acquire()).await), (2, 1));
    let waiting = spawn_take(&semaphore(&client, 1), 1);
    space.until_queued(LEASES, 2).await;
    guard.release().await.unwrap();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn client_that_may_not_state_the_number_is_denied_and_leaves_nothing() {
    use zk::Permission as P;
    let space = Space::new();
    space.restrict(PATH, P::READ | P::CREATE | P::DELETE).await;
    let error = failed(soon(semaphore(&space.client().await, 2).acquire()).await);
    let LockError::Denied { path, permission: Some(Permission::Write), .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(path, PATH);
    assert_eq!((space.children(LEASES).await, space.children(GATE).await), (vec![], vec![]));
}
