//! The heap allocations of locks, on all threads of this process. The server is another process.
//!
//! The counts are those of builds without optimizations, in which Tokio moves large tasks to the heap once more, and with
//! the feature `metrics`. An optimized build without it has two less for a free lock.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::sync::{Mutex, MutexGuard};
use zklock::{Client, Config};
use zklock_testkit::ZooKeeper;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts allocations while no other test of this process runs.
struct Count {
    client: Client,
    server: ZooKeeper,
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::const_new(());

impl Count {
    async fn begin() -> Self {
        let alone = ALONE.lock().await;
        let server = ZooKeeper::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        Self { client, server, _alone: alone }
    }

    /// Returns the allocations of many calls, the smallest number first. Heartbeats disturb few of them.
    async fn sorted(&self, mut call: impl AsyncFnMut()) -> Vec<usize> {
        let mut counts = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let before = ALLOCATOR.stats().allocations;
            call().await;
            counts.push(ALLOCATOR.stats().allocations - before);
        }
        counts.sort_unstable();
        counts
    }
}

const CALLS: usize = 201;

/// The allocations of the client library alone, for a contender's node that is created and deleted.
async fn raw(count: &Count) -> usize {
    let client = zookeeper_client::Client::connect(count.server.connect_string()).await.unwrap();
    let acls = zookeeper_client::Acls::anyone_all();
    client.create("/raw", b"", &zookeeper_client::CreateMode::Persistent.with_acls(acls)).await.unwrap();
    let mode = zookeeper_client::CreateMode::EphemeralSequential.with_acls(acls);
    let create_and_delete = async || {
        let (_, sequence) = client.create("/raw/lock-", b"", &mode).await.unwrap();
        client.delete(&format!("/raw/lock-{sequence}"), None).await.unwrap();
    };
    count.sorted(create_and_delete).await[CALLS / 2]
}

#[tokio::test]
async fn a_lock_that_is_taken_and_released_allocates_at_most_this_often() {
    let count = Count::begin().await;
    let mutex = count.client.mutex("/a").unwrap();
    let free = count.sorted(async || mutex.lock().await.unwrap().release().await.unwrap()).await[CALLS / 2];
    let library = raw(&count).await;
    assert!(free <= 25, "{free}, of which {library} for the requests");
    assert!(library > 0, "nothing was counted");
}

#[tokio::test]
async fn a_lock_that_is_retaken_before_its_release_is_sent_allocates_at_most_this_often() {
    let count = Count::begin().await;
    let mutex = count.client.mutex("/a").unwrap();
    // Where the client's thread is quick, a call also starts the task of the line again.
    let retaken = count.sorted(async || drop(mutex.lock().await.unwrap())).await[0];
    assert!((1..=8).contains(&retaken), "{retaken}");
}
