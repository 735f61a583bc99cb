//! Tasks that take locks or lead, and change resources under some of them.

use std::time::Duration;

use zklock::{FencingToken, Guard, Leadership, LockError, Member, MultiGuard};

use crate::history::{Event, Kind, Way};
use crate::journal::now;
use crate::orders::{Locks, WAIT};

use super::store::{held, read, write};
use super::task::{Calls, Noted, Task};

/// Reads a resource of this kind under one of the mutexes, sleeps, and writes it.
pub(super) async fn update(mut task: Task, locks: Locks, way: Way) {
    while !task.is_stopped() {
        // The holds of the last lock are often long.
        let nth = task.rng.usize(..locks.len());
        let (lock, time) = (locks[nth], if nth + 1 == locks.len() { task.long_work() } else { task.work() });
        let mutex = task.ways.client.mutex(lock).expect("the path is valid");
        let calls = task.asks(&[lock], Kind::Mutex);
        let body = async || {
            read(&calls, 0, &lock[1..], way).await;
            calls.work(time).await;
            if way == Way::Guarded {
                // A write of an earlier hold that was applied meanwhile shows.
                read(&calls, 0, &lock[1..], way).await;
            }
            write(&calls, 0, &lock[1..], way).await;
        };
        work_under(&mut task, &calls, mutex.lock(), one_token, body).await;
    }
}

/// Takes two of three mutexes as one, and changes a file under each.
pub(super) async fn multi(mut task: Task) {
    while !task.is_stopped() {
        let mut pair = PAIRS.to_vec();
        pair.remove(task.rng.usize(..PAIRS.len()));
        let locks =
            task.ways.client.multi(pair.iter().copied().map(Member::mutex)).expect("the paths are valid");
        let (calls, time) = (task.asks(&pair, Kind::Mutex), task.work());
        let token = |guard: &MultiGuard, lock| guard.fencing_token(lock).expect("the guard has each member");
        let tokens = |guard: &MultiGuard| pair.iter().map(|lock| token(guard, lock)).collect();
        let body = async || {
            for (member, lock) in pair.iter().enumerate() {
                read(&calls, member, &lock[1..], Way::Plain).await;
            }
            calls.work(time).await;
            for (member, lock) in pair.iter().enumerate() {
                write(&calls, member, &lock[1..], Way::Plain).await;
            }
        };
        work_under(&mut task, &calls, locks.lock(), tokens, body).await;
    }
}

/// Reads in three of four calls, and writes in the others, under a read-write lock.
pub(super) async fn read_write(mut task: Task) {
    while !task.is_stopped() {
        let lock = task.ways.client.rwlock(TABLE).expect("the path is valid");
        if task.rng.u8(..4) == 0 {
            hold(&mut task, (TABLE, Kind::Write), lock.write()).await;
        } else {
            hold(&mut task, (TABLE, Kind::Read), lock.read()).await;
        }
    }
}

/// Takes permits of a semaphore, one or two.
pub(super) async fn permits(mut task: Task) {
    while !task.is_stopped() {
        let n = if task.rng.u8(..4) == 0 { 2 } else { 1 };
        let semaphore = task.ways.client.semaphore(SEMAPHORE, PERMITS).expect("the path is valid");
        let kind = Kind::Permits { n, of: PERMITS };
        hold(&mut task, (SEMAPHORE, kind), semaphore.acquire_many(n)).await;
    }
}

/// Takes a mutex and starts a job if its period is over.
pub(super) async fn start(mut task: Task) {
    let mutex = task.ways.client.mutex(JOB).expect("the path is valid");
    while !task.is_stopped() {
        let (calls, time) = (task.asks(&[JOB], Kind::Mutex), task.work());
        let body = async || {
            start_once(&calls, "of-mutexes", async |tick| held().once_per(tick, PERIOD).await).await;
            calls.work(time).await;
        };
        work_under(&mut task, &calls, mutex.lock(), one_token, body).await;
    }
}

/// Takes a lock, works without a resource, and pauses.
async fn hold<K>(
    task: &mut Task,
    (lock, kind): (&str, Kind),
    locking: impl Future<Output = Result<Guard<K>, LockError>>,
) {
    let (calls, time) = (task.asks(&[lock], kind), task.work());
    work_under(task, &calls, locking, one_token, async || calls.work(time).await).await;
}

/// Takes a lock, runs a body under it, and pauses.
async fn work_under<K>(
    task: &mut Task,
    calls: &Calls,
    locking: impl Future<Output = Result<Guard<K>, LockError>>,
    tokens: impl FnOnce(&Guard<K>) -> Vec<FencingToken>,
    body: impl AsyncFnOnce(),
) {
    if let Some(guard) = calls.wait(task.patience(), locking).await {
        let tokens = tokens(&guard);
        calls.hold(guard, &tokens, body()).await;
    }
    task.pause().await;
}

fn one_token<K>(guard: &Guard<K>) -> Vec<FencingToken> {
    vec![guard.fencing_token()]
}

/// Runs in an election again and again, and leads for a while each time.
pub(super) async fn lead(mut task: Task) {
    let latch = task.ways.client.leader_latch(ELECTION).expect("the path is valid");
    while !task.is_stopped() {
        let (calls, time) = (task.asks(&[ELECTION], Kind::Leader), task.long_work());
        if let Some(term) = calls.wait(task.patience(), latch.leadership_timeout(WAIT)).await {
            preside(&calls, &term, time).await;
        }
        task.pause().await;
    }
    if let Err(error) = latch.close().await {
        eprintln!("the latch is not closed: {error}");
    }
}

/// Leads for the length of a body, and resigns.
async fn preside(calls: &Calls, term: &Leadership, time: Duration) {
    let until = term.run(async { calls.lease_end() }).await;
    match until {
        Ok(until) => calls.granted(&[term.fencing_token()], until),
        Err(error) => return calls.failed(&error),
    }
    let body = async {
        read(calls, 0, &ELECTION[1..], Way::Plain).await;
        start_once(calls, "of-leaders", async |tick| term.once_per(tick, PERIOD).await).await;
        calls.work(time).await;
        write(calls, 0, &ELECTION[1..], Way::Plain).await;
    };
    if let Err(error) = term.run(body).await {
        calls.told_lost(&error);
    }
    calls.note(&Event::ReleaseBegun);
    term.resign();
    term.lost().await;
    calls.note(&Event::Released);
}

/// Tries to start work whose last start a node remembers, and notes whether it has started.
async fn start_once(calls: &Calls, work: &str, attempt: impl AsyncFnOnce(&str) -> Result<bool, LockError>) {
    let began = now();
    let event = Event::NotStarted { work: work.to_owned() };
    let mut attempting = Noted { calls, member: 0, event };
    if let Ok(true) = attempt(&format!("/ticks/{work}")).await {
        let period = u64::try_from(PERIOD.as_nanos()).unwrap_or(u64::MAX);
        attempting.event = Event::Started { work: work.to_owned(), period, began };
    }
}

const PAIRS: [&str; 3] = ["/pair-a", "/pair-b", "/pair-c"];
const TABLE: &str = "/table";
const SEMAPHORE: &str = "/permits";
/// The number of permits of the whole fleet.
const PERMITS: u32 = 3;
const ELECTION: &str = "/leader";
const JOB: &str = "/job";
/// The period of both jobs.
const PERIOD: Duration = Duration::from_millis(1_500);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::watch;
    use zklock::Config;

    use super::super::task::Ways;
    use super::*;
    use crate::history::Source;
    use crate::journal::Journal;
    use crate::orders::Orders;

    /// Returns the last record of an attempt.
    async fn noted(attempt: impl AsyncFnOnce(&str) -> Result<bool, LockError>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let orders = Orders::of_a_test(directory.path());
        let journal = Journal::create(directory.path(), Source::Process(orders.process)).unwrap();
        let client = Config::new("127.0.0.1:1").start().unwrap();
        let ways = Ways { client, journal, orders, stopped: watch::channel(false).1 };
        let calls = Task::new(&Arc::new(ways), 0).asks(&[JOB], Kind::Mutex);
        // The term ends.
        let _ = tokio::time::timeout(Duration::ZERO, start_once(&calls, "work", attempt)).await;
        let file = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::read_to_string(file).unwrap().lines().last().unwrap().to_owned()
    }

    #[tokio::test]
    async fn an_attempt_is_noted_also_if_it_is_dropped() {
        assert!(noted(async |_| Ok(true)).await.contains(r#""started""#));
        assert!(noted(async |_| Ok(false)).await.contains(r#""not_started""#));
        assert!(noted(async |_| std::future::pending().await).await.contains(r#""not_started""#));
    }
}
