//! This test binary, run again for one of its tests in a process of its own, which can really be killed and stopped.

use std::env;
use std::io::Write;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Space;

const CONNECT: &str = "ZKLOCK_TEST_CONNECT";
const NAMESPACE: &str = "ZKLOCK_TEST_NAMESPACE";

/// What the test that runs in another process has been told.
pub(crate) struct Orders {
    pub(crate) connect: String,
    pub(crate) namespace: String,
}

impl Orders {
    /// The orders, and what the variables of these names say; `None` where the test runs as one of many.
    pub(crate) fn read<const N: usize>(names: [&str; N]) -> Option<(Self, [String; N])> {
        let orders = Self { connect: env::var(CONNECT).ok()?, namespace: env::var(NAMESPACE).ok()? };
        Some((orders, names.map(|name| env::var(name).expect("whoever gives orders gives all of them"))))
    }
}

/// A process that runs one test; it is killed when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Runs the test in the space, with more variables in its environment.
    pub(crate) fn start<const N: usize>(test: &str, space: &Space, variables: [(&str, String); N]) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CONNECT, space.server().connect_string())
            .env(NAMESPACE, &space.namespace)
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Writes a line to its input.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// What it prints, for whom asks first.
    pub(crate) fn output(&mut self) -> ChildStdout {
        self.0.stdout.take().expect("nobody has it yet")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
