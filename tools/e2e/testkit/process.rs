//! Processes that own servers, and the check that the servers end with them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use zklock_testkit::{ZooKeeper, eventually};

const SOON: Duration = Duration::from_secs(20);

/// Makes a test act as the process that owns servers.
const OWNER: &str = "ZKLOCK_TESTKIT_OWNER";

#[track_caller]
fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    assert!(eventually(SOON, || state().then_some(())).is_some(), "never happened: {what}");
}

/// Returns the state of a process as the letter in `/proc`, or `None` if there is no such process.
fn process_state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns whether a process has ended, even if its parent has not waited for it yet.
pub(crate) fn has_ended(pid: u32) -> bool {
    matches!(process_state(pid), None | Some('Z' | 'X'))
}

/// Returns the orders of the owner, if this process is one.
pub(crate) fn owner_orders() -> Option<String> {
    std::env::var(OWNER).ok()
}

/// Reports to the test that this process owns these servers.
pub(crate) fn tell_of(servers: &[ZooKeeper]) {
    for server in servers {
        eprintln!("OWNED {} {}", server.pid().unwrap(), server.directory().display());
    }
}

/// Reports to the test that this process may be killed, and waits for that.
pub(crate) fn wait_to_be_killed() {
    // A child that outlives its parent must not keep the servers alive. This one ends with the test.
    let mut sibling = Command::new("cat").stdin(Stdio::inherit()).stdout(Stdio::null()).spawn().unwrap();
    eprintln!("READY");
    sibling.wait().unwrap();
}

/// A process that runs a test of this binary as an owner.
pub(crate) struct Owner {
    process: Child,
    _sibling_input: ChildStdin,
    servers: Vec<(u32, PathBuf)>,
}

impl Owner {
    /// Starts the process, and waits until it has followed its orders.
    pub(crate) fn spawn(test: &str, orders: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(OWNER, orders)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let told: Vec<_> = lines.take_while(|line| line != "READY").collect();
        let servers = told.iter().filter_map(|line| line.strip_prefix("OWNED ")?.split_once(' '));
        let servers = servers.map(|(pid, directory)| (pid.parse().unwrap(), directory.into()));
        let _sibling_input = process.stdin.take().unwrap();
        Self { process, _sibling_input, servers: servers.collect() }
    }

    /// Kills the process, and waits until the processes and directories of this many servers are gone.
    #[track_caller]
    pub(crate) fn check_that_nothing_outlives_it(mut self, servers: usize) {
        assert_eq!(self.servers.len(), servers);
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for (pid, directory) in &self.servers {
            wait_until("the server ends", || has_ended(*pid));
            wait_until("the directory is removed", || !directory.exists());
        }
    }
}
