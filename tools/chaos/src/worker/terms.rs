//! Tasks of a leader: one leads and starts a job, and the others start another job under a mutex, each at most once
//! per period.

use std::time::Duration;

use crate::history::{Event, Kind};
use zklock::{LeaderLatch, Leadership, LockError};

use crate::journal::now;
use crate::orders::WAIT;

use super::store::{read_file, write_file};
use super::task::{Calls, Task};

/// Runs in an election again and again, and leads for a while each time.
pub(super) async fn lead(mut task: Task) {
    let latch = task.ways.client.leader_latch(ELECTION).expect("the path is valid");
    while !task.is_stopped() {
        let (calls, time) = (task.asks(ELECTION, Kind::Leader), task.long_work());
        if let Some(term) = calls.wait(task.patience(), latch.leadership_timeout(WAIT)).await {
            preside(&calls, &term, time).await;
        }
        task.pause().await;
    }
    close(latch).await;
}

/// Leads for the length of a body, and resigns.
async fn preside(calls: &Calls, term: &Leadership, time: Duration) {
    let until = term.run(async { calls.lease_end() }).await;
    match until {
        Ok(until) => calls.granted(&[term.fencing_token()], until),
        Err(error) => return calls.failed(&error),
    }
    let body = async {
        read_file(calls, 0, &ELECTION[1..]);
        start_once(calls, "of-leaders", async |tick| term.once_per(tick, PERIOD).await).await;
        calls.work(time).await;
        write_file(calls, 0, &ELECTION[1..]);
    };
    if let Err(error) = term.run(body).await {
        calls.told_lost(&error);
    }
    calls.note(&Event::ReleaseBegun);
    term.resign();
    term.lost().await;
    calls.note(&Event::Released);
}

async fn close(latch: LeaderLatch) {
    if let Err(error) = latch.close().await {
        eprintln!("the latch is not closed: {error}");
    }
}

/// Takes a mutex and starts a job if its period is over.
pub(super) async fn start(mut task: Task) {
    let mutex = task.ways.client.mutex(JOB).expect("the path is valid");
    while !task.is_stopped() {
        let calls = task.asks(JOB, Kind::Mutex);
        if let Some(guard) = calls.wait(task.patience(), mutex.lock()).await {
            let tokens = [guard.fencing_token()];
            let time = task.work();
            calls.begin(&guard, &tokens).await;
            start_once(&calls, "of-mutexes", async |tick| guard.once_per(tick, PERIOD).await).await;
            calls.end(guard, calls.work(time)).await;
        }
        task.pause().await;
    }
}

/// Tries to start work whose last start a node remembers, and notes whether it has started.
async fn start_once(calls: &Calls, work: &str, attempt: impl AsyncFnOnce(&str) -> Result<bool, LockError>) {
    let began = now();
    let mut attempting = Attempt { calls, outcome: Event::NotStarted { work: work.to_owned() } };
    if let Ok(true) = attempt(&format!("/ticks/{work}")).await {
        let period = u64::try_from(PERIOD.as_nanos()).unwrap_or(u64::MAX);
        attempting.outcome = Event::Started { work: work.to_owned(), period, began };
    }
}

/// An attempt to start work. It notes its outcome when it is dropped, also because the term has ended.
struct Attempt<'a> {
    calls: &'a Calls,
    outcome: Event,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.calls.note(&self.outcome);
    }
}

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
    use crate::history::{Process, Source};
    use crate::journal::Journal;
    use crate::orders::Pace;

    /// Returns the last record of an attempt.
    async fn noted(attempt: impl AsyncFnOnce(&str) -> Result<bool, LockError>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let process = Process { number: 0, incarnation: 0 };
        let ways = Ways {
            client: Config::new("127.0.0.1:1").start().unwrap(),
            journal: Journal::create(directory.path(), Source::Process(process)).unwrap(),
            process,
            rate: 1_000,
            pace: Pace::Varied,
            directory: directory.path().to_owned(),
            service: ([127, 0, 0, 1], 1).into(),
            stopped: watch::channel(false).1,
        };
        let calls = Task::new(&Arc::new(ways), 0, 0).asks(JOB, Kind::Mutex);
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
