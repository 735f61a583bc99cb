//! Contenders of other libraries that come to a path for the first time, while zklock takes the lock there as fast as
//! it can. Every other path is one that nobody has used before, where zklock creates the queue together with its
//! contender.

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;
use zklock::{Client, Guard, RwLock};

use crate::record::{Diary, Record};
use crate::support::{Space, soon};

pub(crate) const ATTEMPTS: usize = if cfg!(soak) { 1_000 } else { 40 };

/// Lets a newcomer come to each path, and checks that it was inside as often as it was to be, and always alone or with
/// readers.
///
/// `come` brings the newcomer, and returns when it has left. Until then, two clients repeat `round`.
pub(crate) async fn meet(
    space: &Space,
    sections: usize,
    come: impl AsyncFn(&str, &Record),
    round: impl AsyncFn(&Client, &str, &Diary, usize),
) {
    let ours = [space.client("rust-0").await, space.client("rust-1").await];
    for attempt in 0..ATTEMPTS {
        let (path, record, has_left) = (path_of(attempt), Record::new(), Cell::new(false));
        let repeated = ours.iter().enumerate().map(async |(number, client)| {
            let diary = record.diary(&format!("rust-{number}"));
            // Sometimes the newcomer is the first one.
            sleep(Duration::from_millis(attempt as u64 % 4)).await;
            for turn in 0.. {
                round(client, &path, &diary, turn).await;
                if has_left.get() {
                    break;
                }
            }
        });
        let coming = async {
            come(&path, &record).await;
            has_left.set(true);
        };
        soon(async { tokio::join!(coming, join_all(repeated)) }).await;
        let counts = record.check(1).unwrap_or_else(|error| panic!("{path}: {error}"));
        let of_newcomer =
            counts.iter().filter(|(name, _)| !name.starts_with("rust-")).map(|(_, count)| count);
        assert_eq!(of_newcomer.sum::<usize>(), sections, "{path}: {counts:?}");
    }
}

/// Returns the path of an attempt, which is new to every other one.
pub(crate) fn path_of(attempt: usize) -> String {
    format!("/newcomers/{}", attempt / 2)
}

pub(crate) async fn inside<K>(guard: Guard<K>, diary: &Diary, mode: &str) {
    diary.enter(mode);
    tokio::task::yield_now().await;
    diary.leave(mode);
    guard.release().await.unwrap();
}

/// Writes in every third turn, and reads in the others.
pub(crate) async fn read_or_write(lock: RwLock, diary: &Diary, turn: usize) {
    match turn % 3 {
        0 => inside(lock.write().await.unwrap(), diary, "write").await,
        _ => inside(lock.read().await.unwrap(), diary, "read").await,
    }
}

async fn mutex_round(client: &Client, path: &str, diary: &Diary, _: usize) {
    inside(client.mutex(path).unwrap().lock().await.unwrap(), diary, "exclusive").await;
}

/// Returns the way in which a contender in Java comes, to take the lock in each of these modes.
fn java(space: &Space, recipe: &str, modes: &[&str]) -> impl AsyncFn(&str, &Record) {
    async move |path, record| {
        let mut newcomer = space.actor(recipe, path).await;
        let (rounds, file) = (modes.len(), record.path().display());
        newcomer.ask(&format!("contend {} {rounds} 1 0 {file}", modes.join(","))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_in_java_take_turns_at_mutexes() {
    let space = Space::new();
    meet(&space, 1, java(&space, "mutex", &["exclusive"]), mutex_round).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_in_java_take_turns_at_read_write_locks() {
    let space = Space::new();
    for modes in [["read", "write"], ["write", "read"]] {
        meet(&space, 2, java(&space, "rwlock", &modes), async |client, path, diary, turn| {
            read_or_write(client.rwlock(path).unwrap(), diary, turn).await;
        })
        .await;
    }
}
