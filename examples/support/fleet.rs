//! The replicas of a service: copies of an example, each in its own process.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, PipeWriter};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use zklock::{Config, LockError};

use crate::setting::{Failure, config, name_of_run};

/// The role of a process that is not the first one of its example.
#[derive(clap::Subcommand)]
pub(crate) enum Role {
    #[command(hide = true)]
    Replica(Replica),
}

/// The properties that distinguish one replica from the others, passed to its process as arguments.
#[derive(clap::Args)]
pub(crate) struct Replica {
    server: String,
    namespace: String,
    pub(crate) name: u32,
}

impl Replica {
    /// Returns a configuration whose session ends soon after the process is killed.
    pub(crate) fn config(&self) -> Result<Config, LockError> {
        let config = config(&self.server)?.namespace(&self.namespace).session_timeout(SESSION);
        Ok(config.identity(format!("replica {}", self.name)))
    }

    /// Starts the process of this replica: this program, run again with the subcommand `replica`.
    fn start(&self, output: PipeWriter) -> io::Result<Process> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["replica", &self.server, &self.namespace, &self.name.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(output).spawn()?;
        let input = child.stdin.take().expect("the input is piped");
        Ok(Process { child, _input: input })
    }
}

/// Ends this process when its parent ends, even if the parent is killed.
pub(crate) fn end_with_parent() {
    thread::spawn(|| {
        // The parent writes nothing, and its end of the pipe is closed when it ends.
        io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        process::exit(1);
    });
}

/// Returns a future that ends when the process is told to end: by SIGTERM, or by Ctrl-C at a terminal.
pub(crate) fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The replicas that are alive. They are killed when this is dropped.
pub(crate) struct Fleet {
    processes: BTreeMap<u32, Process>,
    lines: Receiver<String>,
}

struct Process {
    child: Child,
    /// Kept open for as long as the replica may live.
    _input: ChildStdin,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Fleet {
    /// Starts this many replicas, named by the numbers from 1 on.
    pub(crate) fn start(replicas: u32, server: &str) -> Result<Self, Failure> {
        let namespace = format!("/{}-{}", env!("CARGO_CRATE_NAME"), name_of_run()?);
        // All replicas write into one pipe, which keeps their lines in the order in which they were written.
        let (output, input) = io::pipe()?;
        let start = |name| {
            let replica = Replica { server: server.to_owned(), namespace: namespace.clone(), name };
            Ok((name, replica.start(input.try_clone()?)?))
        };
        let processes = (1..=replicas).map(start).collect::<io::Result<_>>()?;
        let (line, lines) = mpsc::channel();
        thread::spawn(move || {
            for read in BufReader::new(output).lines().map_while(Result::ok) {
                println!("{read}");
                line.send(read).ok();
            }
        });
        Ok(Self { processes, lines })
    }

    /// Returns the next line that any of the replicas prints.
    pub(crate) fn next_line(&self) -> Result<String, Failure> {
        self.lines.recv_timeout(PATIENCE).map_err(|_| "the replicas printed nothing for too long".into())
    }

    /// Kills a replica without warning (SIGKILL) and returns the time at which it did.
    pub(crate) fn kill(&mut self, name: u32) -> Instant {
        println!("replica {name} is killed");
        drop(self.processes.remove(&name));
        Instant::now()
    }

    /// Tells all replicas to end (SIGTERM), waits for them, and returns the lines that were not read yet.
    pub(crate) fn end(mut self) -> Result<Vec<String>, Failure> {
        for process in self.processes.values() {
            kill_process(Pid::from_child(&process.child), Signal::TERM)?;
        }
        for (name, process) in &mut self.processes {
            let status = process.child.wait()?;
            if !status.success() {
                return Err(format!("replica {name} failed: {status}").into());
            }
        }
        // The lines end when the last writer has closed the pipe.
        Ok(self.lines.iter().collect())
    }
}

/// The shortest session timeout that a server with ZooKeeper's default tick allows.
const SESSION: Duration = Duration::from_secs(4);
/// The longest wait for a line, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
