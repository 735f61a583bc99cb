//! Tasks that take locks, and change resources under some of them.

use std::time::Duration;

use zklock::{Guard, LockError, Member, MutexGuard};

use crate::history::{Kind, Way};
use crate::orders::Locks;

use super::store::{read_file, read_node, read_service, write_file, write_node, write_service};
use super::task::{Calls, Task};

/// Reads a resource of this kind under one of the mutexes, sleeps, and writes it.
pub(super) async fn update(mut task: Task, locks: Locks, way: Way) {
    while !task.is_stopped() {
        let (lock, time) = choose(&mut task, locks);
        let Some((calls, guard)) = locked(&mut task, lock).await else { continue };
        let (resource, token) = (&lock[1..], guard.fencing_token());
        let body = async {
            match way {
                Way::Plain => {
                    read_file(&calls, 0, resource);
                    calls.work(time).await;
                    write_file(&calls, 0, resource);
                }
                Way::Fenced => {
                    read_service(&calls, resource).await;
                    calls.work(time).await;
                    write_service(&calls, resource, token).await;
                }
                Way::Guarded => {
                    read_node(&calls, resource).await;
                    calls.work(time).await;
                    // A write of an earlier hold that was applied meanwhile shows.
                    read_node(&calls, resource).await;
                    write_node(&calls, resource).await;
                }
            }
        };
        calls.hold(guard, &[token], body).await;
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

/// Takes two of three mutexes as one, and changes a file under each.
pub(super) async fn multi(mut task: Task) {
    while !task.is_stopped() {
        let left_out = task.rng.usize(..PAIRS.len());
        let pair: Vec<_> =
            (0..PAIRS.len()).filter(|lock| *lock != left_out).map(|lock| PAIRS[lock]).collect();
        let calls = task.asks_all(&pair, Kind::Mutex);
        let time = task.work();
        let locks =
            task.ways.client.multi(pair.iter().copied().map(Member::mutex)).expect("the paths are valid");
        if let Some(guard) = calls.wait(task.patience(), locks.lock()).await {
            let tokens: Vec<_> = pair
                .iter()
                .map(|lock| guard.fencing_token(lock).expect("the guard has each member"))
                .collect();
            let body = async {
                for (member, lock) in pair.iter().enumerate() {
                    read_file(&calls, member, &lock[1..]);
                }
                calls.work(time).await;
                for (member, lock) in pair.iter().enumerate() {
                    write_file(&calls, member, &lock[1..]);
                }
            };
            calls.hold(guard, &tokens, body).await;
        }
        task.pause().await;
    }
}

/// Reads in three of four calls, and writes in the others, under a read-write lock.
pub(super) async fn read_write(mut task: Task) {
    while !task.is_stopped() {
        let lock = task.ways.client.rwlock(TABLE).expect("the path is valid");
        if task.rng.u8(..4) == 0 {
            work_under(&mut task, (TABLE, Kind::Write), lock.write()).await;
        } else {
            work_under(&mut task, (TABLE, Kind::Read), lock.read()).await;
        }
    }
}

/// Takes permits of a semaphore, one or two.
pub(super) async fn permits(mut task: Task) {
    while !task.is_stopped() {
        let n = if task.rng.u8(..4) == 0 { 2 } else { 1 };
        let semaphore = task.ways.client.semaphore(SEMAPHORE, PERMITS).expect("the path is valid");
        let acquiring =
            async { if n == 1 { semaphore.acquire().await } else { semaphore.acquire_many(n).await } };
        let kind = Kind::Permits { n, of: PERMITS };
        work_under(&mut task, (SEMAPHORE, kind), acquiring).await;
    }
}

/// Takes a lock, works without a resource, and pauses.
async fn work_under<K>(
    task: &mut Task,
    (lock, kind): (&str, Kind),
    locking: impl Future<Output = Result<Guard<K>, LockError>>,
) {
    let (calls, time) = (task.asks(lock, kind), task.work());
    if let Some(guard) = calls.wait(task.patience(), locking).await {
        let tokens = [guard.fencing_token()];
        calls.hold(guard, &tokens, calls.work(time)).await;
    }
    task.pause().await;
}

const PAIRS: [&str; 3] = ["/pair-a", "/pair-b", "/pair-c"];
const TABLE: &str = "/table";
const SEMAPHORE: &str = "/permits";
/// The number of permits of the whole fleet.
const PERMITS: u32 = 3;
