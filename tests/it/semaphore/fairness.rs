//! The turns of clients that compete for permits, and the bounds of what they pass on. `contract::fairness` has the bound
//! of grants.

use std::time::Duration;

use tokio::task::JoinSet;
use zklock::{Client, Permits, Queueing, Standing};

use super::{GATE, PATH, semaphore, spawn_take, take, until_nothing_is_left};
use crate::support::{Space, soon, until, until_waiting_here};

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
    let (space, [client, other]) = Space::with_clients().await;
    let mut busy = keep_busy(&client, OF, 10);
    let mine = semaphore(&client, OF);
    let waiting = async || mine.participants().await.unwrap().iter().any(|own| own.waiting_here > Some(0));
    until(waiting, "calls wait in line").await;
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
}
