//! The turns of clients that compete for one lock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use zklock::{Client, FencingToken, Queueing};

use super::PATH;
use super::face::{Face, LONG, Lock};
use crate::local_queue::until_accompanied;
use crate::support::{Space, soon, until, until_in_line};

/// Calls of a client that take turns as fast as they can while the gate is open.
struct Turns {
    client: Client,
    lock: Lock,
    gate: watch::Sender<bool>,
    record: Arc<Mutex<Vec<FencingToken>>>,
    calls: JoinSet<()>,
}

impl Turns {
    /// The bound of time does not end a turn before that of the grants.
    async fn new(space: &Space, face: Face) -> Self {
        let client = space.config().queueing(Queueing::new(64, LONG)).connect().await.unwrap();
        let lock = face.of(&client, PATH);
        let (gate, record, calls) = (watch::channel(false).0, Arc::default(), JoinSet::new());
        Self { client, lock, gate, record, calls }
    }

    /// Lets calls wait until they may release the lock, and then take it again.
    fn spawn(&mut self, calls: usize) {
        for _ in 0..calls {
            let (lock, record, mut open) = (self.lock.clone(), self.record.clone(), self.gate.subscribe());
            self.calls.spawn(async move {
                loop {
                    let guard = lock.lock_timeout(Duration::MAX).await.unwrap();
                    record.lock().unwrap().push(guard.fencing_token());
                    if open.wait_for(|open| *open).await.is_err() {
                        return;
                    }
                    guard.release().await.unwrap();
                }
            });
        }
    }

    /// Returns the number of holders under each node.
    fn taken(&self) -> Vec<usize> {
        let record = self.record.lock().unwrap();
        record.chunk_by(|a, b| a.zxid() == b.zxid()).map(<[_]>::len).collect()
    }

    async fn until_begun(&self, turn: usize) {
        until(async || self.taken().len() == turn, "the client has its turn").await;
        assert_eq!(self.taken()[turn - 1], 1, "the gate is closed");
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_others_wait_behind_gives_way_after_64_grants(
    #[values(Face::Mutex, Face::Writer)] face: Face,
) {
    let space = Space::new();
    let mut turns = Turns::new(&space, face).await;
    let other = face.of(&space.client().await, PATH);
    turns.spawn(200);
    turns.lock.until_in_line(199).await;
    for turn in 1..=3 {
        let waiting = other.spawn();
        space.until_queued(PATH, 2).await;
        turns.until_begun(turn).await;
        until_accompanied(&space, &turns.client, PATH).await;
        turns.gate.send_replace(true);
        let guard = soon(waiting).await.unwrap().unwrap();
        turns.gate.send_replace(false);
        assert_eq!(turns.taken()[turn - 1], 64);
        // The calls that are left wait behind the outsider.
        space.until_queued(PATH, 2).await;
        guard.release().await.unwrap();
    }
    turns.calls.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permit_that_others_wait_for_is_passed_on_for_64_grants() {
    let (space, face) = (Space::new(), Face::Semaphore);
    let [leases, gate] = face.parents(PATH).try_into().unwrap();
    let mut turns = Turns::new(&space, face).await;
    // A single one would pass the permit on to its own next call.
    let outsiders = [face.of(&space.client().await, PATH), face.of(&space.client().await, PATH)];
    turns.spawn(1);
    turns.until_begun(1).await;
    space.until_empty(&gate).await;
    let mut waiting = outsiders[0].spawn();
    space.until_queued(&leases, 2).await;
    turns.spawn(200);
    turns.lock.until_in_line(200).await;
    for turn in 1..=2 {
        // The other client has passed the gate, and this one has no contender while it has all permits.
        space.until_queued(&gate, 1).await;
        space.until_queued(&leases, 2).await;
        turns.until_begun(turn).await;
        turns.gate.send_replace(true);
        let guard = soon(waiting).await.unwrap().unwrap();
        turns.gate.send_replace(false);
        assert_eq!(turns.taken()[turn - 1], 64);
        // The contender for the next turn passes the gate, and then the other client enters behind it.
        space.until_queued(&leases, 2).await;
        waiting = outsiders[turn % 2].spawn();
        space.until_queued(&gate, 2).await;
        guard.release().await.unwrap();
        turns.until_begun(turn + 1).await;
    }
    turns.calls.shutdown().await;
    waiting.abort();
    // It may have the permit by now.
    drop(waiting);
    face.until_contending(&space, PATH, 0).await;
}

#[tokio::test]
async fn clients_with_long_bodies_alternate() {
    const CALLS: usize = 4;
    let (space, clients) = Space::with_clients::<2>().await;
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
    until_in_line(&clients[0].mutex(PATH).unwrap(), CALLS as u32).await;
    for turn in 0..2 * CALLS {
        until_accompanied(&space, &clients[holder], PATH).await;
        // A turn is over when its client has known of the other one for 50 ms.
        sleep(Duration::from_millis(60)).await;
        guard.release().await.unwrap();
        (holder, guard) = soon(holders.recv()).await.unwrap();
        assert_eq!(holder, (turn + 1) % 2);
    }
}
