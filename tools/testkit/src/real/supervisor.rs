//! The shell that supervises a server for its owner, and free ports for servers.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::tail;
use crate::listener::loopback;
use crate::{Error, eventually};

const SCRIPT: &str = include_str!("supervisor.sh");

/// The time limit for a server to be ready after its start.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(30);
/// The time limit for a process to stop.
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two looks at a process that is to stop.
const PAUSE: Duration = Duration::from_millis(1);

/// The start of the names of directories that the shell may remove.
pub(crate) const DIRECTORY_PREFIX: &str = "zklock-testkit-";

/// A shell that starts a server on demand, and ends it when its owner ends.
///
/// The owner's end of the pipe to the shell is closed on exec, so no other child of the owner keeps it open.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    server: Option<u32>,
}

impl Supervisor {
    /// Starts the shell without a server.
    pub(crate) fn spawn(directory: &Path, command: &[OsString]) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "zklock-testkit"])
            .arg(directory)
            .args(command)
            .current_dir(directory)
            // In the C locale, Java cannot open a path that is not ASCII.
            .env("LC_ALL", "C.UTF-8")
            // Signals from a terminal are for the owner.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("the shell's output is piped"));
        Ok(Self { shell, orders, answers, server: None })
    }

    /// Returns the process id of the server, if it was started and not killed since.
    pub(crate) fn server(&self) -> Option<u32> {
        self.server
    }

    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.server = Some(self.order("start")?);
        Ok(())
    }

    /// Sends the server a signal, named without its `SIG`.
    pub(crate) fn signal(&mut self, name: &str) -> io::Result<()> {
        match self.order(&format!("signal {name}"))? {
            0 => Ok(()),
            status => Err(io::Error::other(format!("`kill` ended with status {status}"))),
        }
    }

    /// Stops the server (SIGSTOP), and waits until all of its threads stand still: the signal goes to one of them, which
    /// may have to wait for a processor before it stops the others.
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        self.signal("STOP")?;
        let deadline = Instant::now() + STOP_WITHIN;
        while !self.server.is_none_or(stands_still) {
            if Instant::now() >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server goes on after SIGSTOP"));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Kills the server and waits until it has gone.
    pub(crate) fn end_server(&mut self) -> io::Result<()> {
        self.order("end")?;
        self.server = None;
        Ok(())
    }

    /// Returns whether there is no server, or only one that has exited on its own.
    fn server_has_exited(&self) -> bool {
        let state = self.server.and_then(|pid| state(Path::new(&format!("/proc/{pid}"))));
        state.is_none_or(|state| matches!(state, 'Z' | 'X'))
    }

    /// Waits until the server is ready. An error has the end of its log.
    pub(crate) fn wait_until_ready(
        &self,
        is_ready: impl Fn() -> bool,
        log: impl Fn() -> String,
    ) -> Result<(), Error> {
        let log = || tail(&log());
        let attempt = || match self.server_has_exited() {
            true => Some(Err(Error::Exited { log: log() })),
            false => is_ready().then_some(Ok(())),
        };
        let late = || Err(Error::NotReady { waited: START_WITHIN, log: log() });
        eventually(START_WITHIN, attempt).unwrap_or_else(late)
    }

    /// Kills the server and ends the shell, which removes the directory.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.orders = None;
        self.server = None;
        self.shell.wait().map(drop)
    }

    fn order(&mut self, order: &str) -> io::Result<u32> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        writeln!(self.orders.as_mut().ok_or_else(closed)?, "{order}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        answer.trim_end().parse().map_err(|_| io::Error::other(format!("the shell answered `{answer}`")))
    }
}

/// Returns whether all threads of a process are stopped or gone.
fn stands_still(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = threads.filter_map(|thread| state(&thread.path()));
    states.all(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// Returns the state of the process or thread with this directory below `/proc`, or `None` if it is gone.
fn state(directory: &Path) -> Option<char> {
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = self.close();
    }
}

/// The number of attempts to start on ports that may be taken between the search for them and the start.
const TRIES: usize = 5;

/// Finds `count` different ports that are free at one [`loopback`] address.
pub(crate) fn free_ports(count: usize) -> io::Result<Vec<SocketAddr>> {
    let ip = loopback();
    // All listeners stay open until the last port is found, so that no port is found twice.
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect::<io::Result<_>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}

/// Calls `start` up to [`TRIES`] times while a port turns out to be taken; it must find new ports each time.
pub(crate) fn start_on_free(mut start: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    for _ in 1..TRIES {
        match start() {
            Err(error) if is_of_a_taken_port(&error) => {}
            outcome => return outcome,
        }
    }
    start()
}

fn is_of_a_taken_port(error: &Error) -> bool {
    match error {
        Error::Exited { log } | Error::NotReady { log, .. } => log.contains("Address already in use"),
        _ => false,
    }
}
