//! Replicas in their own processes, whose timers fire often and at different times.
//!
//! A replica is this test binary, run for the first test below with its parameters in the environment. Each
//! start is written into a log that all replicas share, with the time of the start on the server.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::NamedTempFile;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use zklock::{Config, LockError, distributed_lock, leader_only};
use zookeeper_client as zk;

use crate::support::process::{Orders, Process};
use crate::support::{QUICK_TICK, Space, outsider_at, until};

/// The test that runs as a replica in another process, where its case does not matter.
const REPLICA: &str = "once::fleet::work_under_a_lock_starts_once_per_second_whoever_of_five_is_killed";
const LOG: &str = "ZKLOCK_TEST_REPLICA_LOG";
const NAME: &str = "ZKLOCK_TEST_REPLICA_NAME";
const WORK: &str = "ZKLOCK_TEST_REPLICA_WORK";
/// The timeout of a replica's session. A replica that waits for the one that was killed waits for about as long.
const SESSION: Duration = Duration::from_secs(1);
const REPLICAS: usize = 5;
const PATH: &str = "/sweep";
const STARTED: &str = "/started";
const TIMER: Duration = Duration::from_millis(200);
/// The number of seconds, each of which has one start. The first start is at the beginning.
const SECONDS: usize = if cfg!(soak) { 20 } else { 3 };

struct Work {
    outsider: zk::Client,
    namespace: String,
    log: PathBuf,
    name: String,
}

impl Work {
    /// Writes the name of this replica into the log, with the server's time of the start.
    async fn start(&self) {
        let started = self.outsider.get_data(&format!("{}{STARTED}", self.namespace)).await.unwrap().1.mtime;
        let mut log = OpenOptions::new().append(true).open(&self.log).unwrap();
        log.write_all(format!("{} {started}\n", self.name).as_bytes()).unwrap();
        sleep(Duration::from_millis(1)).await;
    }
}

#[distributed_lock(path = PATH, once_per = "1s", tick = STARTED)]
async fn by_lock(work: &Work) -> Result<(), LockError> {
    work.start().await;
    Ok(())
}

#[leader_only(path = PATH, once_per = "1s", tick = STARTED)]
async fn by_leader(work: &Work) -> Result<(), LockError> {
    work.start().await;
    Ok(())
}

async fn sweep((Orders { connect, namespace }, [log, name, kind]): (Orders, [String; 3])) {
    let outsider = outsider_at(&connect).await;
    let config = Config::new(connect).namespace(&namespace).session_timeout(SESSION);
    let config = config.server_timeout(SESSION * 2 / 5).tick_time(QUICK_TICK);
    zklock::install(config.connect().await.unwrap()).unwrap();
    let offset = TIMER / REPLICAS as u32 * name.parse().unwrap();
    let work = Work { outsider, namespace, log: log.into(), name };
    let (mut input, mut nowhere) = (tokio::io::stdin(), tokio::io::sink());
    tokio::select! {
        _ = tokio::io::copy(&mut input, &mut nowhere) => {}
        () = start_by_timer(&work, &kind, offset) => {}
    }
}

async fn start_by_timer(work: &Work, kind: &str, offset: Duration) {
    sleep(offset).await;
    let mut timer = interval(TIMER);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        timer.tick().await;
        let outcome = if kind == "lock" { by_lock(work).await } else { by_leader(work).await };
        outcome.unwrap_or_else(|error| eprintln!("{error}"));
    }
}

/// A start: the replica, and the server's time in milliseconds.
#[derive(Debug)]
struct Start {
    name: usize,
    at: i64,
}

struct Fleet {
    space: Space,
    work: &'static str,
    log: NamedTempFile,
}

impl Fleet {
    fn new(work: &'static str) -> Self {
        Self { space: Space::quick(), work, log: NamedTempFile::new().unwrap() }
    }

    fn replica(&self, name: usize) -> Process {
        let log = self.log.path().display().to_string();
        Process::start(
            REPLICA,
            &self.space,
            [(LOG, log), (NAME, name.to_string()), (WORK, self.work.to_owned())],
        )
    }

    fn starts(&self) -> Vec<Start> {
        let log = fs::read_to_string(self.log.path()).unwrap();
        let lines = log.lines().map(|line| line.split_once(' ').expect("a name and a time"));
        lines.map(|(name, at)| Start { name: name.parse().unwrap(), at: at.parse().unwrap() }).collect()
    }

    /// Waits for this many starts. Each may take its second, and as long as a killed replica's session.
    async fn until_started(&self, count: usize) {
        let enough = async {
            while self.starts().len() < count {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(90), enough).await.expect("work starts each second");
    }
}

/// Kills the replica that started last, at a moment when it has no node that others would have to wait for.
async fn kill_last(fleet: &Fleet, replicas: &mut [Option<Process>]) -> usize {
    let name = fleet.starts().last().expect("there was a start").name;
    let replica = replicas[name].take().expect("it runs");
    if fleet.work == "lock" {
        let holds_nothing = async || {
            replica.signal(Signal::STOP);
            // No other replica holds the lock for long.
            let is_free = timeout(TIMER, fleet.space.until_empty(PATH)).await.is_ok();
            if !is_free {
                replica.signal(Signal::CONT);
            }
            is_free
        };
        until(holds_nothing, "it holds nothing").await;
    }
    replica.signal(Signal::KILL);
    name
}

async fn starts_once_per_second(work: &'static str) -> Vec<Start> {
    let fleet = Fleet::new(work);
    let mut replicas: Vec<_> = (0..REPLICAS).map(|name| Some(fleet.replica(name))).collect();
    fleet.until_started(SECONDS / 2).await;
    let killed = kill_last(&fleet, &mut replicas).await;
    let before = fleet.starts().len();
    fleet.until_started(SECONDS + 1).await;
    let starts = fleet.starts();
    assert!(starts[before..].iter().all(|start| start.name != killed), "{starts:?}");
    for (first, start) in starts.iter().enumerate() {
        for (later, other) in starts.iter().enumerate().skip(first + 1) {
            let periods = (later - first) as i64;
            // The first start may have been early by a twentieth of a period.
            assert!(other.at - start.at >= periods * 1_000 - 50, "{start:?} and {other:?} of {starts:?}");
        }
    }
    starts
}

fn longest_gap(starts: &[Start]) -> i64 {
    starts.windows(2).map(|pair| pair[1].at - pair[0].at).max().expect("there are several starts")
}

#[tokio::test]
async fn work_under_a_lock_starts_once_per_second_whoever_of_five_is_killed() {
    if let Some(orders) = Orders::read([LOG, NAME, WORK]) {
        return sweep(orders).await;
    }
    let starts = starts_once_per_second("lock").await;
    // No turn is missed, because no replica waits for the one that was killed.
    assert!(longest_gap(&starts) < 8_000, "{starts:?}");
}

#[tokio::test]
async fn work_of_a_leader_starts_once_per_second_but_for_the_time_of_an_election() {
    let starts = starts_once_per_second("leader").await;
    let election = SESSION.as_millis() as i64 + 8_000;
    assert!(longest_gap(&starts) < 1_000 + election, "{starts:?}");
}
