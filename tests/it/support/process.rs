//! This test binary, run again for one of its tests in its own process, which can be killed and stopped.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Space;

const CONNECT: &str = "ZKLOCK_TEST_CONNECT";
const NAMESPACE: &str = "ZKLOCK_TEST_NAMESPACE";

/// A time that is longer than any test lets another process live.
const LONGEST: Duration = Duration::from_secs(300);

/// The parameters of a test that runs in another process.
pub(crate) struct Orders {
    pub(crate) connect: String,
    pub(crate) namespace: String,
}

impl Orders {
    /// Returns the parameters and the values of these variables, or `None` if the test runs as part of the
    /// suite.
    pub(crate) fn read<const N: usize>(names: [&str; N]) -> Option<(Self, [String; N])> {
        let orders = Self { connect: env::var(CONNECT).ok()?, namespace: env::var(NAMESPACE).ok()? };
        abort_in_time();
        Some((orders, names.map(|name| env::var(name).expect("all variables are set together"))))
    }
}

/// Ends this process if it lives for too long, so that the test that waits for its end fails.
fn abort_in_time() {
    thread::spawn(|| {
        thread::sleep(LONGEST);
        process::abort();
    });
}

pub(crate) fn report(line: &str) {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).expect("the parent reads");
}

/// Returns a number of this process in `/proc/self/status`, such as `Threads`, or `VmData` in KiB.
pub(crate) fn of_process(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    size.expect("the kernel tells the size").trim().trim_end_matches(" kB").parse().unwrap()
}

/// A process that runs one test. It is killed on drop.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start<const N: usize>(test: &str, space: &Space, variables: [(&str, String); N]) -> Self {
        Self::start_at(test, (space.server().connect_string(), &space.namespace), variables)
    }

    pub(crate) fn start_at<const N: usize>(
        test: &str,
        (connect, namespace): (&str, &str),
        variables: [(&str, String); N],
    ) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CONNECT, connect)
            .env(NAMESPACE, namespace)
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn output(&mut self) -> ChildStdout {
        self.0.stdout.take().expect("the output was not taken before")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
