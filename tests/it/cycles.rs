//! Using many locks leaves no resources behind in the process or on the server.
//!
//! The test runs in its own process, so that other tests do not count.

use std::io;
use std::time::Duration;

use zklock::{Client, Config, Mutex};
use zklock_testkit::four_letter;

use crate::support::process::{Orders, Process, of_process};
use crate::support::{SOON, Server, TICK, until};

/// The test that the other process runs. Any case of it will do.
const NAME: &str = "cycles::many_uses_leave_no_threads_memory_nodes_or_watches";

const USES: (usize, usize) = (3_000, if cfg!(soak) { 200 } else { 50 });
/// A leak of one kilobyte in each use of a lock would exceed this.
const SLACK_KIB: u64 = USES.0 as u64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_uses_leave_no_threads_memory_nodes_or_watches() {
    if let Some((Orders { connect, .. }, [])) = Orders::read([]) {
        locks_are_used_and_dropped(&connect).await;
        return clients_are_used_and_dropped(&connect).await;
    }
    let server = Server::start();
    let mut process = Process::start_at(NAME, (server.connect_string(), "/"), []);
    let ends = move || (io::read_to_string(process.output()).unwrap(), process.0.wait().unwrap());
    let (output, status) = tokio::task::spawn_blocking(ends).await.unwrap();
    assert!(status.success(), "{status}: {output}");
}

async fn connect(to: &str) -> Client {
    Config::new(to).tick_time(TICK).connect().await.unwrap()
}

fn used() -> (u64, u64) {
    (of_process("Threads"), of_process("VmRSS"))
}

fn monitored(server: &str, name: &str) -> u64 {
    let answer = four_letter::ask(server.parse().unwrap(), "mntr", SOON).unwrap();
    let figure = answer.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    figure.trim().parse().unwrap()
}

#[track_caller]
fn assert_no_more_memory(before: u64) {
    let after = used().1;
    assert!(after < before + SLACK_KIB, "{before} KiB became {after} KiB");
}

async fn use_once(mutex: &Mutex, turn: usize) {
    match turn % 4 {
        0 => mutex.lock().await.unwrap().release().await.unwrap(),
        1 => drop(mutex.lock().await.unwrap()),
        2 => drop(tokio::time::timeout(Duration::from_micros(200), mutex.lock()).await),
        _ => {
            let guard = mutex.lock().await.unwrap();
            drop(guard.scope(mutex.lock()).await.unwrap());
            assert!(mutex.try_lock().await.unwrap().is_none());
            assert!(mutex.lock_timeout(Duration::from_micros(500)).await.is_err());
        }
    }
}

async fn locks_are_used_and_dropped(to: &str) {
    let client = connect(to).await;
    let cycles = async |count| {
        for turn in 0..count {
            use_once(&client.mutex(format!("/cycle/{}", turn % 10)).unwrap(), turn).await;
        }
    };
    cycles(USES.0 / 5).await;
    let before = used();
    cycles(USES.0).await;
    assert_eq!(used().0, before.0, "threads were started");
    assert_no_more_memory(before.1);
    // The client still exists, so nothing has been deleted with its session. It watches the nodes of the ten queues,
    // by which it knows that they were not made anew.
    until(|| async { monitored(to, "zk_watch_count") <= 10 }, "no other watch is left").await;
    until(|| async { monitored(to, "zk_ephemerals_count") == 0 }, "no contender is left").await;
    client.shutdown(Duration::ZERO).await;
}

async fn clients_are_used_and_dropped(to: &str) {
    let threads = used().0;
    let cycles = async |count| {
        for turn in 0..count {
            let client = connect(to).await;
            use_once(&client.mutex("/cycle/0").unwrap(), turn).await;
            drop(client);
        }
        until(|| async { used().0 <= threads }, "the threads of the clients have ended").await;
    };
    cycles(USES.1 / 5).await;
    let before = used();
    cycles(USES.1).await;
    assert_no_more_memory(before.1);
}
