//! The turns of clients that compete for one lock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock::{FencingToken, Queueing};

use super::{PATH, spawn_lock, until_in_line};
use crate::support::{Space, soon, until};

/// The tokens of the holders, in their order.
type Record = Arc<Mutex<Vec<FencingToken>>>;

/// A call that waits until it may release the lock, and then takes it again.
///
/// The calls of a client take turns as fast as they can while the gate is open.
async fn take_turns_through(mutex: zklock::Mutex, record: Record, mut open: watch::Receiver<bool>) {
    loop {
        let guard = mutex.lock_timeout(Duration::MAX).await.unwrap();
        record.lock().unwrap().push(guard.fencing_token());
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_others_wait_behind_gives_way_after_64_grants() {
    let space = Space::new();
    // The bound of time does not end a turn before that of the grants.
    let queueing = Queueing::new(64, Duration::from_secs(60));
    let client = space.config().queueing(queueing).connect().await.unwrap();
    let other = space.client().await;
    let ((gate, open), record) = (watch::channel(false), Record::default());
    let mut tasks = JoinSet::new();
    for _ in 0..200 {
        let mutex = client.mutex(PATH).unwrap();
        tasks.spawn(take_turns_through(mutex, record.clone(), open.clone()));
    }
    until_in_line(&client, 199).await;
    for turn in 1..=3 {
        let waiting = spawn_lock(&other);
        space.until_queued(PATH, 2).await;
        until(async || turns(&record).len() == turn, "the client has its turn").await;
        super::until_accompanied(&space, &client, PATH).await;
        assert_eq!(turns(&record)[turn - 1], 1, "the gate is closed");
        gate.send_replace(true);
        let guard = soon(waiting).await.unwrap();
        gate.send_replace(false);
        assert_eq!(turns(&record)[turn - 1], 64);
        // The calls that are left wait behind the outsider.
        space.until_queued(PATH, 2).await;
        guard.release().await.unwrap();
    }
    tasks.shutdown().await;
}

/// Returns the number of holders under each node.
fn turns(record: &Record) -> Vec<usize> {
    let record = record.lock().unwrap();
    record.chunk_by(|a, b| a.zxid() == b.zxid()).map(<[_]>::len).collect()
}

#[tokio::test]
async fn clients_with_long_bodies_alternate() {
    const CALLS: usize = 4;
    let space = Space::new();
    let clients = [space.client().await, space.client().await];
    let (holds, mut holders) = mpsc::unbounded_channel();
    let mut guard = clients[0].mutex(PATH).unwrap().lock().await.unwrap();
    let mut holder = 0;
    for (number, client) in clients.iter().enumerate() {
        for _ in 0..CALLS {
            let (mutex, holds) = (client.mutex(PATH).unwrap(), holds.clone());
            tokio::spawn(async move { holds.send((number, mutex.lock().await.unwrap())) });
        }
    }
    drop(holds);
    space.until_queued(PATH, 2).await;
    until_in_line(&clients[0], CALLS as u32).await;
    for turn in 0..2 * CALLS {
        super::until_accompanied(&space, &clients[holder], PATH).await;
        // A turn is over when its client has known of the other one for 50 ms.
        sleep(Duration::from_millis(60)).await;
        guard.release().await.unwrap();
        (holder, guard) = soon(holders.recv()).await.unwrap();
        assert_eq!(holder, (turn + 1) % 2);
    }
    guard.release().await.unwrap();
}

#[tokio::test]
async fn without_time_a_client_gives_way_after_each_grant() {
    let space = Space::new();
    let queueing = Queueing::new(64, Duration::ZERO);
    let client = space.config().queueing(queueing).connect().await.unwrap();
    let other = space.client().await;
    let guard = client.mutex(PATH).unwrap().lock().await.unwrap();
    let own = spawn_lock(&client);
    until_in_line(&client, 1).await;
    let others = spawn_lock(&other);
    space.until_queued(PATH, 2).await;
    let token = guard.fencing_token();
    super::until_accompanied(&space, &client, PATH).await;
    guard.release().await.unwrap();
    let guard = soon(others).await.unwrap();
    assert!(!own.is_finished() && guard.fencing_token() > token);
    guard.release().await.unwrap();
    soon(own).await.unwrap().release().await.unwrap();
}
