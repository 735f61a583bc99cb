//! The contract of the semaphore.

mod agreement;
mod fairness;
mod gate;
mod loss;
mod outage;
mod passing;
mod shared;
mod tries;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Barrier, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use zklock::{Client, LockError, Semaphore, SemaphoreGuard};

use crate::support::{Space, soon};

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

/// Takes permits in a separate task, however long that takes.
fn spawn_take(semaphore: &Semaphore, permits: u32) -> JoinHandle<Result<SemaphoreGuard, LockError>> {
    let semaphore = semaphore.clone();
    tokio::spawn(async move { semaphore.acquire_many_timeout(permits, Duration::MAX).await })
}

async fn until_nothing_is_left(space: &Space) {
    space.until_empty(LEASES).await;
    space.until_empty(GATE).await;
}

/// Counts the permits that are inside, and panics if there are too many.
#[derive(Clone, Default)]
struct Room(Arc<AtomicUsize>);

impl Room {
    #[track_caller]
    fn enter(&self, permits: u32, of: u32) {
        let inside = self.0.fetch_add(permits as usize, Ordering::SeqCst) + permits as usize;
        assert!(inside <= of as usize, "{inside} of {of} permits are taken");
    }

    fn leave(&self, permits: u32) {
        self.0.fetch_sub(permits as usize, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_as_there_are_permits_are_inside_at_a_time() {
    let space = Space::new();
    let (room, all_inside, mut tasks) = (Room::default(), Arc::new(Barrier::new(3)), JoinSet::new());
    for _ in 0..3 {
        let semaphore = semaphore(&space.client().await, 3);
        for _ in 0..4 {
            let (semaphore, room, all_inside) = (semaphore.clone(), room.clone(), all_inside.clone());
            tasks.spawn(async move {
                let guard = take(&semaphore, 1).await;
                room.enter(1, 3);
                // No task leaves before three are inside.
                all_inside.wait().await;
                assert!(guard.is_held());
                room.leave(1);
                guard.release().await.unwrap();
            });
        }
    }
    soon(tasks.join_all()).await;
    until_nothing_is_left(&space).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_permits_never_exceed_what_there_is() {
    let space = Space::new();
    let (room, mut tasks) = (Room::default(), JoinSet::new());
    for session in 0..4 {
        let (semaphore, room) = (semaphore(&space.client().await, 5), room.clone());
        tasks.spawn(async move {
            for round in 0..10 {
                let permits = 1 + (session * 7 + round * 3) % 5;
                let guard = take(&semaphore, permits).await;
                room.enter(permits, 5);
                tokio::task::yield_now().await;
                room.leave(permits);
                match round % 2 {
                    0 => guard.release().await.unwrap(),
                    _ => drop(guard),
                }
            }
        });
    }
    soon(tasks.join_all()).await;
    until_nothing_is_left(&space).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_that_want_two_of_three_each_do_not_wait_for_each_other_in_a_circle() {
    let space = Space::new();
    let (room, mut tasks) = (Room::default(), JoinSet::new());
    for _ in 0..3 {
        let (semaphore, room) = (semaphore(&space.client().await, 3), room.clone());
        tasks.spawn(async move {
            for _ in 0..20 {
                let guard = take(&semaphore, 2).await;
                room.enter(2, 3);
                room.leave(2);
                drop(guard);
            }
        });
    }
    soon(tasks.join_all()).await;
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn those_who_wait_get_in_as_permits_come_back_in_groups() {
    const OF: u32 = 4;
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let room = Room::default();
    let (entered, mut inside) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for number in 0..24 {
        let semaphore = semaphore(if number % 2 == 0 { &client } else { &other }, OF);
        let (room, entered) = (room.clone(), entered.clone());
        tasks.spawn(async move {
            let guard = take(&semaphore, 1).await;
            room.enter(1, OF);
            entered.send(guard).unwrap();
        });
    }
    drop(entered);
    let mut chunk = Vec::new();
    for size in [1, 3, 2, 4, 1, 1, 4, 2, 3, 3] {
        for _ in 0..size {
            chunk.push(soon(inside.recv()).await.unwrap());
        }
        for guard in chunk.drain(..) {
            room.leave(1);
            guard.release().await.unwrap();
        }
    }
    soon(tasks.join_all()).await;
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn each_call_takes_permits_of_its_own_also_inside_of_another() {
    let space = Space::new();
    let semaphore = semaphore(&space.client().await, 2);
    let outer = semaphore.acquire().await.unwrap();
    outer
        .scope(async {
            let inner = semaphore.acquire().await.unwrap();
            assert_ne!(inner.fencing_token(), outer.fencing_token());
            assert!(semaphore.try_acquire().await.unwrap().is_none());
            inner.release().await.unwrap();
        })
        .await;
    assert!(outer.is_held());
    outer.release().await.unwrap();
}
