//! Tasks that take a mutex, and change a resource under it.

use std::time::Duration;

use crate::history::Kind;
use zklock::MutexGuard;

use crate::workload::{FENCED, GUARDED, Locks, REGISTERS};

use super::store::{read_file, read_node, read_service, write_file, write_node, write_service};
use super::task::{Calls, Task};

/// Reads a shared file, sleeps, and writes it.
pub(super) async fn register(mut task: Task) {
    while !task.is_stopped() {
        let (lock, time) = choose(&mut task, REGISTERS);
        let Some((calls, guard)) = locked(&mut task, lock).await else { continue };
        let tokens = [guard.fencing_token()];
        let body = async {
            read_file(&calls, 0, &lock[1..]);
            calls.work(time).await;
            write_file(&calls, 0, &lock[1..]);
        };
        calls.hold(guard, &tokens, body).await;
        task.pause().await;
    }
}

/// The same with a service that refuses older tokens.
pub(super) async fn fenced(mut task: Task) {
    while !task.is_stopped() {
        let (lock, time) = choose(&mut task, FENCED);
        let Some((calls, guard)) = locked(&mut task, lock).await else { continue };
        let token = guard.fencing_token();
        let body = async {
            read_service(&calls, &lock[1..]).await;
            calls.work(time).await;
            write_service(&calls, &lock[1..], token).await;
        };
        calls.hold(guard, &[token], body).await;
        task.pause().await;
    }
}

/// The same with a node of ZooKeeper, which is written through the guard.
pub(super) async fn guarded(mut task: Task) {
    while !task.is_stopped() {
        let (lock, time) = choose(&mut task, GUARDED);
        let Some((calls, guard)) = locked(&mut task, lock).await else { continue };
        let tokens = [guard.fencing_token()];
        let body = async {
            read_node(&calls, &lock[1..]).await;
            calls.work(time).await;
            // A write of an earlier hold that was applied meanwhile shows.
            read_node(&calls, &lock[1..]).await;
            write_node(&calls, &lock[1..]).await;
        };
        calls.hold(guard, &tokens, body).await;
        task.pause().await;
    }
}

/// Chooses one of the locks, and the length of the body.
fn choose(task: &mut Task, locks: Locks) -> (&'static str, Duration) {
    let nth = task.rng.usize(..locks.len());
    (locks[nth], if nth + 1 == locks.len() { task.long_work() } else { task.work() })
}

/// Takes a mutex; `None` if the call ends without it.
async fn locked(task: &mut Task, lock: &str) -> Option<(Calls, MutexGuard)> {
    let calls = task.asks(lock, Kind::Mutex);
    let mutex = task.ways.client.mutex(lock).expect("the path is valid");
    let guard = calls.wait(task.patience(), mutex.lock()).await;
    if guard.is_none() {
        task.pause().await;
    }
    Some((calls, guard?))
}
