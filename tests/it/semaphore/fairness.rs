//! The turns of clients that compete for permits, and the bounds of what they pass on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use zklock::{Client, FencingToken, Permits, Queueing, Semaphore, Standing};

use super::passing::{patient, until_in_line};
use super::{GATE, LEASES, PATH, Room, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, soon, until, until_waiting_here};

/// The tokens of the holders, in their order.
type Record = Arc<Mutex<Vec<FencingToken>>>;

/// A call that waits until it may release its permit, and then takes one again.
///
/// The calls of a client take turns as fast as they can while the barrier is open.
async fn take_turns_through(semaphore: Semaphore, record: Record, mut open: watch::Receiver<bool>) {
    loop {
        let guard = semaphore.acquire_timeout(Duration::MAX).await.unwrap();
        record.lock().unwrap().push(guard.fencing_token());
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        guard.release().await.unwrap();
    }
}

/// Returns the number of holders under each node.
fn turns(record: &Record) -> Vec<usize> {
    let record = record.lock().unwrap();
    record.chunk_by(|a, b| a.zxid() == b.zxid()).map(<[_]>::len).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permit_that_others_wait_for_is_passed_on_for_64_grants() {
    let space = Space::new();
    let (_proxy, client) = patient(&space).await;
    // A single one would pass the permit on to its own next call.
    let outsiders = [semaphore(&space.client().await, 1), semaphore(&space.client().await, 1)];
    let ((barrier, open), record) = (watch::channel(false), Record::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(take_turns_through(semaphore(&client, 1), record.clone(), open.clone()));
    until(async || turns(&record) == [1], "the first call holds").await;
    space.until_empty(GATE).await;
    let mut waiting = spawn_take(&outsiders[0], 1);
    space.until_queued(LEASES, 2).await;
    for _ in 0..200 {
        tasks.spawn(take_turns_through(semaphore(&client, 1), record.clone(), open.clone()));
    }
    until_in_line(&client, 1, 200).await;
    for turn in 1..=3 {
        // The other client has passed the gate, and this one has no contender while it has all permits.
        space.until_queued(GATE, 1).await;
        space.until_queued(LEASES, 2).await;
        assert_eq!(turns(&record).len(), turn);
        assert_eq!(turns(&record)[turn - 1], 1, "the barrier is closed");
        barrier.send_replace(true);
        let guard = soon(waiting).await.unwrap().unwrap();
        barrier.send_replace(false);
        assert_eq!(turns(&record)[turn - 1], 64);
        // The contender for the next turn passes the gate, and then the other client enters behind it.
        space.until_queued(LEASES, 2).await;
        waiting = spawn_take(&outsiders[turn % 2], 1);
        space.until_queued(GATE, 2).await;
        guard.release().await.unwrap();
        until(async || turns(&record).len() == turn + 1, "the client has its turn").await;
    }
    tasks.shutdown().await;
    waiting.abort();
    // It may have the permit by now.
    drop(waiting);
    until_nothing_is_left(&space).await;
}

#[tokio::test]
async fn without_time_a_permit_is_released_after_each_grant() {
    let space = Space::new();
    let queueing = Queueing::new(64, Duration::ZERO);
    let client = space.config().queueing(queueing).connect().await.unwrap();
    let semaphore = semaphore(&client, 1);
    let guard = take(&semaphore, 1).await;
    let waiting = spawn_take(&semaphore, 1);
    until_in_line(&client, 1, 1).await;
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token().zxid() > token.zxid());
    guard.release().await.unwrap();
    until_nothing_is_left(&space).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_of_two_clients_never_hold_more_permits_than_there_are() {
    const OF: u32 = 3;
    let space = Space::new();
    let (room, mut tasks) = (Room::default(), JoinSet::new());
    let clients = [space.client().await, space.client().await];
    for number in 0..40 {
        let (semaphore, room) = (semaphore(&clients[number % 2], OF), room.clone());
        tasks.spawn(async move {
            let mut handoffs = 0;
            for round in 0..30 {
                let permits = if (number + round) % 17 == 0 { 2 } else { 1 };
                let guard = take(&semaphore, permits).await;
                room.enter(permits, OF);
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                handoffs += u32::from(guard.fencing_token().handoff() > 0);
                room.leave(permits);
                match round % 3 {
                    0 => drop(guard),
                    _ => guard.release().await.unwrap(),
                }
            }
            handoffs
        });
    }
    let handoffs: u32 = soon(tasks.join_all()).await.into_iter().sum();
    assert!(handoffs > 0, "no permit was passed on");
    until_nothing_is_left(&space).await;
}

/// Tasks that take one permit each, again and again.
fn keep_busy(client: &Client, of: u32, tasks: usize) -> JoinSet<()> {
    let mut busy = JoinSet::new();
    for _ in 0..tasks {
        let semaphore = semaphore(client, of);
        busy.spawn(async move {
            loop {
                let guard = semaphore.acquire_timeout(Duration::MAX).await.unwrap();
                tokio::task::yield_now().await;
                guard.release().await.unwrap();
            }
        });
    }
    busy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_for_all_permits_get_them_while_calls_for_one_come_without_end() {
    const OF: u32 = 3;
    let space = Space::new();
    let (client, other) = (space.client().await, space.client().await);
    let mut busy = keep_busy(&client, OF, 10);
    until_in_line_at_all(&client, OF).await;
    for all in [semaphore(&other, OF), semaphore(&client, OF)] {
        for _ in 0..3 {
            let guard = take(&all, OF).await;
            assert!(guard.is_held());
            guard.release().await.unwrap();
        }
    }
    assert!(busy.try_join_next().is_none(), "the others go on");
    busy.shutdown().await;
    until_nothing_is_left(&space).await;
}

async fn until_in_line_at_all(client: &Client, of: u32) {
    let semaphore = semaphore(client, of);
    let waiting = async || {
        let participants = semaphore.participants().await.unwrap();
        participants.iter().find_map(|own| own.waiting_here).is_some_and(|waiting| waiting > 0)
    };
    until(waiting, "calls wait in line").await;
}

#[tokio::test]
async fn a_number_that_falls_takes_effect_when_the_turns_of_the_permits_are_over() {
    let space = Space::new();
    let queueing = Queueing::new(2, Duration::from_secs(60));
    let client = space.config().queueing(queueing).connect().await.unwrap();
    let semaphore = client.semaphore(PATH, Permits::shared("/limit", 2)).unwrap();
    let (one, two) = (take(&semaphore, 1).await, take(&semaphore, 1).await);
    space.until_empty(GATE).await;
    let in_line = async |count| until_waiting_here(async || semaphore.participants().await, count).await;
    let mut waiters = Vec::new();
    for count in 1..=3 {
        waiters.push(spawn_take(&semaphore, 1));
        in_line(count).await;
    }
    let mut waiters = waiters.into_iter();
    // The contender that has passed the gate knows the number, and has to learn of the new one.
    let knows = async || space.is_watched("/limit");
    until(knows, "the contender watches the number").await;
    semaphore.set_permits(1).await.unwrap();
    until(knows, "the contender has seen the number").await;
    let first = one.fencing_token();
    one.release().await.unwrap();
    let one = soon(waiters.next().unwrap()).await.unwrap().unwrap();
    assert_eq!((one.fencing_token().zxid(), one.fencing_token().handoff()), (first.zxid(), 1));
    // The turn of this permit is over, and there is one too many.
    one.release().await.unwrap();
    in_line(2).await;
    let participants = semaphore.participants().await.unwrap();
    let holders = participants.iter().filter(|participant| participant.standing == Standing::Holds);
    assert_eq!(holders.count(), 1);
    let second = two.fencing_token();
    two.release().await.unwrap();
    let two = soon(waiters.next().unwrap()).await.unwrap().unwrap();
    assert_eq!((two.fencing_token().zxid(), two.fencing_token().handoff()), (second.zxid(), 1));
    two.release().await.unwrap();
    let last = soon(waiters.next().unwrap()).await.unwrap().unwrap();
    assert_eq!(last.fencing_token().handoff(), 0);
    last.release().await.unwrap();
    until_nothing_is_left(&space).await;
}
