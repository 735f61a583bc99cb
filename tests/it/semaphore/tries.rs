//! Tries find free permits, and leave nothing if there are none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use zklock::LockError;
use zookeeper_client as zk;

use super::{GATE, LEASES, held_before, semaphore, take, until_nothing_is_left};
use crate::support::{Space, failed, persistent, sequential, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_tries_at_once_as_there_are_permits_all_succeed() {
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
async fn a_try_does_not_overtake_those_who_wait() {
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
