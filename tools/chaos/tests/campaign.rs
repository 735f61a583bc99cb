//! Short forms of the campaigns. The soak has longer ones.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Runs the campaign's program, and returns what it prints. Fails if it does.
fn chaos(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zklock-chaos"));
    let child =
        command.args(arguments.split(' ')).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let in_time = kill_late(&child);
    let output = child.wait_with_output().unwrap();
    drop(in_time);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}:\n{printed}", output.status);
    printed
}

/// Kills a process at the deadline, unless the returned value is dropped before.
fn kill_late(child: &Child) -> Sender<()> {
    let process = Pid::from_child(child);
    let (in_time, end) = channel();
    thread::spawn(move || {
        if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            kill_process(process, Signal::KILL).unwrap();
        }
    });
    in_time
}

/// Longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(600);

const MINUTES: &str = if cfg!(soak) { "2" } else { "0.5" };

#[test]
fn a_campaign_with_all_kinds_of_work_finds_no_violation() {
    let report = chaos(&format!("--minutes {MINUTES} --seed 1"));
    assert!(report.lines().any(|line| line == "0 violations"), "{report}");
}
