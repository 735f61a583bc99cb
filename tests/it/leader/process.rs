//! Candidates in processes of their own, which are killed, stopped, cut off and told to resign.
//!
//! A candidate is this test binary, run again for the one test `candidate_process` with its orders in the
//! environment. While it leads it writes into a log that all of them share.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rstest_reuse::apply;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use zklock::{Client, Config, Leadership};

use crate::support::session_end::end_session;
use crate::support::{Kind, SOON, Space, TICK, on_both_servers};

const PATH: &str = "/sweeper";
/// The test that is a candidate in another process.
const CANDIDATE: &str = "leader::process::candidate_process";
const CONNECT: &str = "ZKLOCK_TEST_CANDIDATE_CONNECT";
const NAMESPACE: &str = "ZKLOCK_TEST_CANDIDATE_NAMESPACE";
const LOG: &str = "ZKLOCK_TEST_CANDIDATE_LOG";
const NAME: &str = "ZKLOCK_TEST_CANDIDATE_NAME";
/// How often the leader changes; more take longer.
const CHANGES: &str = "ZKLOCK_TEST_LEADER_CHANGES";
const SESSION: Duration = Duration::from_secs(2);
const CANDIDATES: usize = 3;

/// One thing that a leader did.
struct Deed {
    epoch: u128,
    /// Nanoseconds on the clock that all processes share, taken before the leader made sure that it leads.
    at: u64,
    name: usize,
    session: i64,
}

impl Deed {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        let (epoch, at) = (word()?.parse().ok()?, word()?.parse().ok()?);
        Some(Self { epoch, at, name: word()?.parse().ok()?, session: word()?.parse().ok()? })
    }
}

fn boot_clock() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).expect("time is positive")
}

/// Records again and again that it leads.
async fn work(term: Leadership, client: Client, (log, name): (String, String)) {
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    let epoch = u128::from(term.fencing_token());
    loop {
        let at = boot_clock();
        if term.is_leading() {
            let session = client.session_id().unwrap_or_default();
            log.write_all(format!("{epoch} {at} {name} {session} \n").as_bytes()).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Not a test of its own: the process of a candidate. Each line of its input has it resign, and the end of the
/// input ends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidate_process() {
    let [connect, namespace, log, name] = [CONNECT, NAMESPACE, LOG, NAME].map(std::env::var);
    let (Ok(connect), Ok(namespace), Ok(log), Ok(name)) = (connect, namespace, log, name) else { return };
    let config = Config::new(connect).namespace(namespace).session_timeout(SESSION).tick_time(TICK);
    let client = config.connect().await.unwrap();
    let election = client.election(PATH).unwrap().auto_requeue();
    let selector = election.select(move |term| work(term, client.clone(), (log.clone(), name.clone())));
    let obeying = tokio::task::spawn_blocking(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(|_| selector.interrupt());
    });
    obeying.await.unwrap();
}

/// A candidate in another process; it is killed when this is dropped.
struct Candidate(Child);

impl Candidate {
    fn start(space: &Space, log: &Path, name: usize) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CANDIDATE, "--nocapture"])
            .env(CONNECT, space.server().connect_string())
            .env(NAMESPACE, &space.namespace)
            .env(LOG, log)
            .env(NAME, name.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The log; its file is removed when this is dropped.
struct Log(PathBuf);

impl Log {
    fn new(space: &Space) -> Self {
        let name = space.namespace.trim_start_matches('/');
        let path = std::env::temp_dir().join(format!("zklock-{name}.log"));
        File::create(&path).unwrap();
        Self(path)
    }

    /// The latest deed of the latest leader among those at the end of the log.
    fn latest(&self) -> Option<Deed> {
        let mut file = File::open(&self.0).unwrap();
        let length = file.seek(SeekFrom::End(0)).unwrap();
        file.seek(SeekFrom::Start(length.saturating_sub(1_000))).unwrap();
        let mut end = String::new();
        file.read_to_string(&mut end).unwrap();
        // The first of several lines is a part of one.
        let whole = if length > 1_000 { end.split_once('\n')?.1 } else { &end };
        let whole = whole.rsplit_once('\n')?.0;
        whole.lines().filter_map(Deed::parse).max_by_key(|deed| (deed.epoch, deed.at))
    }

    /// Waits until somebody leads after this epoch.
    async fn leader_after(&self, epoch: u128) -> Deed {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(deed) = self.latest().filter(|deed| deed.epoch > epoch) {
                return deed;
            }
            assert!(Instant::now() < deadline, "nobody leads");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Checks that leaders were at work one after the other, with rising epochs; says how many there were.
    fn check(&self) -> usize {
        let text = fs::read_to_string(&self.0).unwrap();
        let mut terms: BTreeMap<u128, (u64, u64, usize)> = BTreeMap::new();
        for deed in text.lines().map(|line| Deed::parse(line).expect("lines are written at once")) {
            let (first, last, name) = terms.entry(deed.epoch).or_insert((deed.at, deed.at, deed.name));
            (*first, *last) = ((*first).min(deed.at), (*last).max(deed.at));
            assert_eq!(*name, deed.name, "two leaders in one epoch");
        }
        for ((epoch, (_, last, _)), (next, (first, ..))) in terms.iter().zip(terms.iter().skip(1)) {
            assert!(last < first, "{epoch} was still at work when {next} began");
        }
        terms.len()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Why the leader changes.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Resignation,
    SessionEnd,
    Kill,
    Stop,
}

#[apply(on_both_servers)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_processes_is_at_work_at_a_time_whatever_ends_its_term(kind: Kind) {
    let changes = std::env::var(CHANGES).map_or(24, |changes| changes.parse().unwrap());
    let space = Space::new(kind);
    let log = Log::new(&space);
    let start = |name| Candidate::start(&space, &log.0, name);
    let mut candidates: BTreeMap<_, _> = (0..CANDIDATES).map(|name| (name, start(name))).collect();
    let mut leader = log.leader_after(0).await;
    space.until_queued(PATH, CANDIDATES).await;
    let faults = [Fault::Resignation, Fault::Kill, Fault::SessionEnd, Fault::Stop];
    for (round, fault) in faults.into_iter().cycle().take(changes).enumerate() {
        let (name, fresh) = (leader.name, CANDIDATES + round);
        let struck = Instant::now();
        match fault {
            Fault::Resignation => {
                let input = candidates.get_mut(&name).unwrap().0.stdin.as_mut().unwrap();
                writeln!(input).unwrap();
            }
            Fault::SessionEnd => end_session(space.server().address(), leader.session),
            Fault::Kill => drop(candidates.remove(&name).unwrap()),
            Fault::Stop => candidates[&name].signal(Signal::STOP),
        }
        let next = log.leader_after(leader.epoch).await;
        let took = struck.elapsed();
        assert!(took < SESSION + Duration::from_secs(2), "{fault:?} took {took:?}");
        match fault {
            Fault::Kill => drop(candidates.insert(fresh, start(fresh))),
            Fault::Stop => candidates[&name].signal(Signal::CONT),
            Fault::Resignation | Fault::SessionEnd => {}
        }
        // Those of ended sessions are gone by then, and those who lost theirs are back.
        space.until_queued(PATH, CANDIDATES).await;
        leader = log.latest().filter(|deed| deed.epoch > next.epoch).unwrap_or(next);
    }
    drop(candidates);
    assert!(log.check() > changes);
    space.until_empty(PATH).await;
}
