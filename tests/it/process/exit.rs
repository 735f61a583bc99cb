//! Processes that end right after an annotated call, without `zklock::shutdown`.

use std::io::Read;
use std::process::exit;
use std::time::Duration;

use zklock::{Config, LockError, distributed_lock};

use crate::support::process::{Orders, Process};
use crate::support::{Server, until};

/// The test that runs in another process, where its case does not matter.
const CALLER: &str = "process::exit::calling_process";
/// The path of the lock, which is different in each process.
const PATH: &str = "ZKLOCK_TEST_EXIT_PATH";
/// The number of processes on each kind of server.
const PROCESSES: usize = if cfg!(soak) { 200 } else { 20 };
/// A session timeout that is longer than this test waits for a node to go.
const SESSION: Duration = Duration::from_secs(120);

#[distributed_lock(path = path)]
async fn brief(path: &str) -> Result<usize, LockError> {
    Ok(path.len())
}

/// Makes one call for the parent process, if there is one, and ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calling_process() {
    let Some((orders, [path])) = Orders::read([PATH]) else { return };
    let config = Config::new(orders.connect).namespace(orders.namespace).session_timeout(SESSION);
    let client = config.connect().await.unwrap();
    let called = zklock::scope(client, brief(&path)).await;
    exit(if called.unwrap() == path.len() { 0 } else { 1 });
}

#[tokio::test]
async fn a_process_that_ends_right_after_a_call_leaves_nothing() {
    let server = Server::start_granting(SESSION);
    let outsider = server.outsider().await;
    for number in 0..PROCESSES {
        let path = format!("/exits/{number}");
        let mut process =
            Process::start_at(CALLER, (server.connect_string(), "/exit"), [(PATH, path.clone())]);
        // The output ends with the process.
        process.output().read_to_string(&mut String::new()).unwrap();
        let children = async || outsider.list_children(&format!("/exit{path}")).await.unwrap();
        until(async || children().await.is_empty(), "the node is gone").await;
    }
}
