//! The start of a program, which stalls: it never begins without its lock.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use tempfile::TempDir;
use zklock_testkit::Direction;

use crate::keys::{EXEC, SHELL, SUSPEND};
use crate::running::{Running, child_with, state};
use crate::support::{Space, free};
use crate::waiting::until;
use crate::zklock::{Zklock, fill};

/// A pipe without a writer, as a library that each process loads first: the process stands until somebody writes.
struct Gate {
    directory: TempDir,
}

impl Gate {
    fn new() -> Self {
        let gate = Self { directory: tempfile::tempdir().expect("a directory is made") };
        mkfifo(&gate.pipe(), Mode::S_IRWXU).expect("a pipe is made");
        gate
    }

    fn pipe(&self) -> PathBuf {
        self.directory.path().join("library")
    }

    /// Starts a command whose helpers stand.
    async fn start(&self, zklock: Zklock) -> Running {
        let running = zklock.env("LD_PRELOAD", self.pipe()).shell("echo ran; exec sleep 1000").start();
        until(async || writer(self.pipe()).is_ok(), "the command stands, and is let go on").await;
        helper(&running, "__program").await;
        running
    }

    /// Lets all processes go on, those included that are about to stand, and those that come later.
    fn open(self) -> OpenGate {
        let (old, empty) = (self.directory.path().join("old"), self.directory.path().join("empty"));
        fs::rename(self.pipe(), &old).expect("the pipe is there");
        File::create(&empty).expect("a file is made");
        fs::rename(empty, self.pipe()).expect("the file is there");
        // A writer that stays lets each reader go on, and a reader that finds no library goes on without it.
        let mut pipe = File::options().read(true).write(true).open(old).expect("the pipe is there");
        fill(&mut pipe);
        OpenGate { _directory: self, _pipe: pipe }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // A test that fails leaves no process that stands.
        let _ = File::options().read(true).write(true).open(self.pipe());
    }
}

/// A pipe that a process reads without a wait.
struct OpenGate {
    _directory: Gate,
    _pipe: File,
}

/// Opens a pipe for a moment, which lets the processes go on that wait for it. Fails if there are none.
fn writer(pipe: PathBuf) -> std::io::Result<File> {
    OpenOptions::new().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(pipe)
}

/// Waits for a helper. A process that has just begun has the arguments of its parent, or none.
async fn helper(running: &Running, word: &str) -> Pid {
    let found = Cell::new(None);
    let is_there = async || {
        found.set(child_with(running.pid(), word));
        found.get().is_some()
    };
    until(is_there, "the helper is there").await;
    found.get().expect("it was found")
}

/// Asks a command to end whose program has not begun.
async fn assert_ends_without_a_run(space: &Space, mut running: Running) {
    running.ends_by(Signal::SIGTERM).await;
    assert_eq!(running.rest(), "");
    assert!(space.children("/a").await.is_empty());
}

/// Waits until the process stands in front of the program.
async fn until_launched(launcher: Pid) {
    let is_there = async || state(launcher.as_raw()) == Some('T');
    until(is_there, "the launched process stands in front of the program").await;
}

#[tokio::test]
async fn a_signal_ends_a_start_that_stalls() {
    let (space, gate) = (Space::new(), Gate::new());
    let running = gate.start(space.zklock("exec /a")).await;
    assert_ends_without_a_run(&space, running).await;
}

#[tokio::test]
async fn a_signal_ends_a_start_whose_watchdog_is_stopped() {
    let (space, gate) = (Space::new(), Gate::new());
    let running = gate.start(space.zklock("lead /a")).await;
    kill(helper(&running, "__watchdog").await, Signal::SIGSTOP).unwrap();
    let _gate = gate.open();
    until_launched(helper(&running, "__program").await).await;
    assert_ends_without_a_run(&space, running).await;
}

#[tokio::test]
async fn a_start_that_stalls_is_given_up() {
    let (space, gate) = (Space::new(), Gate::new());
    let mut running = gate.start(space.zklock("exec /a").err_to_out()).await;
    running.line_with("cannot start the program: its processes were not ready");
    assert_eq!(running.code().await, 70);
    assert!(space.children("/a").await.is_empty());
}

#[tokio::test]
async fn a_program_whose_lock_is_lost_during_its_start_does_not_begin() {
    let (space, gate) = (Space::new(), Gate::new());
    let (client, proxy) = (space.client().await, space.proxy());
    let mut running = gate.start(space.brief_at(proxy.connect_string(), "exec /a")).await;
    proxy.blackhole(Direction::Both);
    free(&client, "/a").await;
    assert_eq!(running.code().await, 79);
    assert_eq!(running.rest(), "");
}

#[tokio::test]
async fn a_program_does_not_begin_if_its_zklock_was_stopped_until_its_lock_ended() {
    for lost in ["term", "continue"] {
        let (space, gate) = (Space::new(), Gate::new());
        let client = space.client().await;
        let exec = format!("exec /a --on-lost {lost}");
        let mut running = gate.start(space.brief(&exec)).await;
        running.signal(Signal::SIGSTOP);
        free(&client, "/a").await;
        let _gate = gate.open();
        until_launched(helper(&running, "__program").await).await;
        running.signal(Signal::SIGCONT);
        assert_eq!(running.code().await, 79, "{lost}");
        assert_eq!(running.rest(), "", "{lost}");
    }
}

#[tokio::test]
async fn a_process_that_others_have_stopped_in_front_of_the_program_goes_on() {
    // A key of a terminal sends the first one, and a batch system the second one.
    for signal in [Signal::SIGTSTP, Signal::SIGSTOP] {
        let (space, gate) = (Space::new(), Gate::new());
        let mut running = gate.start(space.zklock("exec /a")).await;
        kill(helper(&running, "__program").await, signal).unwrap();
        let _gate = gate.open();
        assert_eq!(running.line(), "ran", "{signal}");
        running.ends_by(Signal::SIGTERM).await;
    }
}

#[tokio::test]
async fn a_start_that_is_suspended_goes_on_when_the_shell_resumes_it() {
    let (space, gate) = (Space::new(), Gate::new());
    let zklock = space.zklock("").env("GATE", gate.pipe());
    let mut terminal = zklock.on_terminal(SHELL, "echo ready; read line").start();
    terminal.types(&format!("LD_PRELOAD=\"$GATE\" {EXEC}\n"));
    until(async || writer(gate.pipe()).is_ok(), "the command stands, and is let go on").await;
    let command = || child_with(child_with(terminal.pid(), "bash")?, "/a");
    let launcher = || child_with(command()?, "__program");
    until(async || launcher().is_some(), "the helpers are started").await;
    let launcher = launcher().unwrap();
    terminal.types(SUSPEND);
    terminal.line_with("Stopped");
    let _gate = gate.open();
    until_launched(launcher).await;
    terminal.types("fg\n");
    terminal.line_with("ready");
    terminal.types("a line\n");
    space.until_queued("/a", 0).await;
    terminal.types("exit 0\n");
    assert_eq!(terminal.code().await, 0);
}
