//! Groups with common members never deadlock, in whatever order the members are named.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use zklock::{Client, FencingToken};

use super::{A, B, C, until_nothing_is_left};
use crate::support::Space;

/// The locks of each session, in the order in which it names them.
const GROUPS: [&[&str]; 4] = [&[A, B], &[B, A], &[A, B, C], &[C, B, A]];

/// The number of tasks of each session.
const TASKS: usize = 8;

/// The way in which the tasks of a session take their locks.
#[derive(Clone, Copy)]
enum Manner {
    /// By a multi-lock.
    Together,
    /// One after the other, in the order of their paths, by mutexes.
    OneByOne,
}

/// The number of rounds of all sessions together.
const ROUNDS: usize = if cfg!(soak) { 10_240 } else { 960 };

/// The holds of each lock, as its holders know them.
#[derive(Default)]
struct Ledger {
    locks: Mutex<[Lock; 3]>,
    rounds: Mutex<usize>,
}

#[derive(Default)]
struct Lock {
    is_held: bool,
    /// The token of the last holder.
    last: Option<FencingToken>,
}

impl Ledger {
    fn enter(&self, tokens: &[FencingToken]) {
        let mut locks = self.locks.lock().unwrap();
        for (lock, token) in locks.iter_mut().zip(tokens) {
            assert!(!std::mem::replace(&mut lock.is_held, true), "two hold at the same time");
            let before = lock.last.replace(*token);
            assert!(before < Some(*token), "{token} comes after {before:?}");
        }
    }

    fn leave(&self, members: usize) {
        self.locks.lock().unwrap()[..members].iter_mut().for_each(|lock| lock.is_held = false);
        *self.rounds.lock().unwrap() += 1;
    }

    fn rounds(&self) -> usize {
        *self.rounds.lock().unwrap()
    }
}

/// Takes the locks, and gives them back.
async fn round(client: &Client, group: &[&str], manner: Manner, ledger: &Ledger) {
    let sorted = &[A, B, C][..group.len()];
    match manner {
        Manner::Together => {
            let multi = client.multi(group.iter().copied()).unwrap();
            let guard = multi.lock_timeout(Duration::MAX).await.unwrap();
            let tokens: Vec<_> = sorted.iter().map(|path| guard.fencing_token(path).unwrap()).collect();
            ledger.enter(&tokens);
            tokio::task::yield_now().await;
            ledger.leave(group.len());
            guard.release().await.unwrap();
        }
        Manner::OneByOne => {
            let mut guards = Vec::new();
            for path in sorted {
                guards.push(client.mutex(path).unwrap().lock_timeout(Duration::MAX).await.unwrap());
            }
            let tokens: Vec<_> = guards.iter().map(|guard| guard.fencing_token()).collect();
            ledger.enter(&tokens);
            tokio::task::yield_now().await;
            ledger.leave(group.len());
            join_all(guards.into_iter().map(|guard| async { guard.release().await.unwrap() })).await;
        }
    }
}

async fn many_rounds(manners: [Manner; 4]) {
    let space = Space::new();
    let (ledger, mut tasks) = (Arc::new(Ledger::default()), JoinSet::new());
    for (group, manner) in GROUPS.into_iter().zip(manners) {
        let client = space.client().await;
        for _ in 0..TASKS {
            let (client, ledger) = (client.clone(), ledger.clone());
            tasks.spawn(async move {
                for _ in 0..ROUNDS / GROUPS.len() / TASKS {
                    round(&client, group, manner, &ledger).await;
                }
            });
        }
    }
    let mut seen = 0;
    while !tasks.is_empty() {
        // A deadlock is a time without any round in which hundreds of rounds are usual.
        match tokio::time::timeout(STILL, tasks.join_next()).await {
            Ok(ended) => ended.transpose().map(drop).unwrap(),
            Err(_) => {
                let now = ledger.rounds();
                assert!(now > seen, "nothing was done for {STILL:?} after {now} rounds");
                seen = now;
            }
        }
    }
    assert_eq!(ledger.rounds(), ROUNDS);
    until_nothing_is_left(&space).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rounds_of_four_sessions_with_many_tasks_each_end_without_a_deadlock() {
    many_rounds([Manner::Together; 4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rounds_end_although_half_of_the_sessions_take_their_locks_one_by_one() {
    use Manner::{OneByOne, Together};
    many_rounds([Together, OneByOne, OneByOne, Together]).await;
}

/// The longest time without any round.
const STILL: Duration = Duration::from_secs(10);
