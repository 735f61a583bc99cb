//! Holders in their own processes, which are killed and stopped, or end right after a call without `zklock::shutdown`.
//!
//! The holder is this test binary, run for the single test `holder_process` with its parameters in the
//! environment. It prints the events of its hold line by line.

mod fork;

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, exit};
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::Signal;
use zklock::{Client, Config, Held, LeaseState, LockError, distributed_lock};

use crate::contract::face::Face;
use crate::support::process::{self, Orders, Process};
use crate::support::{QUICK_TICK, Server, Space, TICK, soon, until};

const PATH: &str = "/fleet/deploy";
/// The test that runs as a holder in another process, where its case does not matter.
const HOLDER: &str = "process::holder_process";
const SESSION_MS: &str = "ZKLOCK_TEST_HOLDER_SESSION_MS";
const FACE: &str = "ZKLOCK_TEST_HOLDER_FACE";
const SESSION: Duration = Duration::from_secs(2);

fn config(connect: &str, namespace: &str) -> Config {
    Config::new(connect).namespace(namespace).tick_time(TICK)
}

/// Counts its turns in ZooKeeper under the lock, until a write fails.
async fn count_turns(held: &Held) -> Result<(), LockError> {
    struct Leaving;
    impl Drop for Leaving {
        fn drop(&mut self) {
            report("body dropped");
        }
    }
    let _leaving = Leaving;
    held.create("/turns", "0").await?;
    report(&format!("held {}", held.fencing_token()));
    for turn in 1_u64.. {
        match held.set_data("/turns", turn.to_string()).await {
            // A server that stood still has broken the connection.
            Err(LockError::OutcomeUnknown { .. }) => {}
            written => written?,
        }
    }
    Ok(())
}

fn report(line: &str) {
    process::report(&format!("holder: {line}"));
}

/// Holds the lock for the parent process, if there is one. The tests of the parent depend on its report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holder_process() {
    let Some((orders, [session, face])) = Orders::read([SESSION_MS, FACE]) else { return };
    let session = Duration::from_millis(session.parse().unwrap());
    // A client that stood still takes the server for silent. It keeps its connection if it stood still for less.
    let config =
        config(&orders.connect, &orders.namespace).session_timeout(session).server_timeout(session * 2 / 5);
    let face = if face == "Leader" { Face::Leader } else { Face::Mutex };
    report(&hold_until_lost(&config.connect().await.unwrap(), face).await);
}

/// Runs a body under a lock, and describes both after the loss: whether the state shows the loss, and the outcome of a
/// write by a holder that does not check the state.
async fn hold_until_lost(client: &Client, face: Face) -> String {
    let held = face.of(client, PATH).take().await;
    let outcome = held.run(count_turns(&held)).await.flatten();
    let said = if let LeaseState::Lost(_) = held.state() { "said" } else { "unsaid" };
    let written = held.set_data("/turns", "late").await;
    match (outcome, written) {
        (Err(body), Err(write)) if body.is_lost() && write.is_lost() => format!("lost, {said}, refused"),
        other => format!("ended with {other:?}"),
    }
}

struct Holder {
    process: Process,
    lines: BufReader<ChildStdout>,
}

impl Holder {
    fn start(space: &Space, session: Duration, face: Face) -> Self {
        let orders = [(SESSION_MS, session.as_millis().to_string()), (FACE, format!("{face:?}"))];
        let mut process = Process::start(HOLDER, space, orders);
        let lines = BufReader::new(process.output());
        Self { process, lines }
    }

    fn reported(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the holder ended without a report");
            if let Some((_, report)) = line.split_once("holder: ") {
                return report.trim().to_owned();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }
}

fn zxid_of(report: &str) -> u64 {
    let token = report.strip_prefix("held ").expect("the holder says that it holds");
    token.split('.').next().unwrap().parse().unwrap()
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_holder_is_followed_after_its_session_timed_out_and_not_before(
    #[values(Face::Mutex, Face::Leader)] face: Face,
) {
    let space = Space::quick();
    let mut holder = Holder::start(&space, SESSION, face);
    let token = zxid_of(&holder.reported());
    let waiting = face.of(&space.client().await, PATH).spawn();
    space.until_queued(PATH, 2).await;
    holder.signal(Signal::KILL);
    let killed = Instant::now();
    let guard = soon(waiting).await.unwrap().unwrap();
    let waited = killed.elapsed();
    // The holder was busy, so the server heard from its session just before it was killed.
    assert!(waited + QUICK_TICK / 2 >= SESSION, "the lock was handed on after {waited:?}");
    assert!(guard.fencing_token().zxid() > token);
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_holder_wakes_to_a_lost_lock_and_a_dropped_body_and_writes_nothing(
    #[values(Face::Mutex, Face::Leader)] face: Face,
) {
    let space = Space::quick();
    let mut holder = Holder::start(&space, SESSION, face);
    let token = zxid_of(&holder.reported());
    let lock = face.of(&space.client().await, PATH);
    holder.signal(Signal::STOP);
    let guard = lock.take().await;
    assert!(guard.fencing_token().zxid() > token);
    guard.set_data("/turns", "the successor's").await.unwrap();
    holder.signal(Signal::CONT);
    assert_eq!(holder.reported(), "body dropped");
    assert_eq!(holder.reported(), "lost, said, refused");
    let data = space.outsider().await.get_data(&space.full("/turns")).await.unwrap().0;
    assert_eq!(data, b"the successor's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_stopped_for_less_than_its_lease_goes_on() {
    let space = Space::new();
    let mut holder = Holder::start(&space, Duration::from_secs(10), Face::Mutex);
    holder.reported();
    let turns = || async {
        let data = space.outsider().await.get_data(&space.full("/turns")).await.unwrap().0;
        String::from_utf8(data).unwrap().parse::<u64>().unwrap()
    };
    holder.signal(Signal::STOP);
    // This test is about the length of the stop, which is a part of the lease of a session of ten seconds.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = turns().await;
    holder.signal(Signal::CONT);
    until(|| async { turns().await > before + 1 }, "the holder goes on").await;
    assert_eq!(space.children(PATH).await.len(), 1);
}

/// The test that runs in another process, where its case does not matter.
const CALLER: &str = "process::calling_process";
/// The path of the lock, which is different in each process.
const EXIT_PATH: &str = "ZKLOCK_TEST_EXIT_PATH";
const PROCESSES: usize = if cfg!(soak) { 200 } else { 20 };
/// A session timeout that is longer than this test waits for a node to go.
const LONG: Duration = Duration::from_secs(120);

#[distributed_lock(path = path)]
async fn brief(path: &str) -> Result<usize, LockError> {
    Ok(path.len())
}

/// Makes one call for the parent process, if there is one, and ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calling_process() {
    let Some((orders, [path])) = Orders::read([EXIT_PATH]) else { return };
    let config = Config::new(orders.connect).namespace(orders.namespace).session_timeout(LONG);
    let client = config.connect().await.unwrap();
    let called = zklock::scope(client, brief(&path)).await;
    exit(if called.unwrap() == path.len() { 0 } else { 1 });
}

#[tokio::test]
async fn a_process_that_ends_right_after_a_call_leaves_nothing() {
    let server = Server::start_granting(LONG);
    let outsider = server.outsider().await;
    for number in 0..PROCESSES {
        let path = format!("/exits/{number}");
        let mut process =
            Process::start_at(CALLER, (server.connect_string(), "/exit"), [(EXIT_PATH, path.clone())]);
        // The output ends with the process.
        process.output().read_to_string(&mut String::new()).unwrap();
        let children = async || outsider.list_children(&format!("/exit{path}")).await.unwrap();
        until(async || children().await.is_empty(), "the node is gone").await;
    }
}
