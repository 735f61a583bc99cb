//! The replicas of a service: copies of an example, in processes of their own.

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

/// What a process of an example is, if it is not the first one.
#[derive(clap::Subcommand)]
pub(crate) enum Role {
    #[command(hide = true)]
    Replica(Replica),
}

/// What distinguishes one replica from the others. It is all that its process is told.
#[derive(clap::Args)]
pub(crate) struct Replica {
    server: String,
    namespace: String,
    pub(crate) name: u32,
}

impl Replica {
    /// A configuration with a session that ends soon after its process was killed.
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

/// Ends this process with the one that started it, however that ends.
pub(crate) fn end_with_parent() {
    thread::spawn(|| {
        // The parent writes nothing, and its end of the pipe is closed when it is gone.
        io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        process::exit(1);
    });
}

/// Listens for what a service is told to end by: SIGTERM, or Ctrl-C at a terminal.
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
    /// Starts so many replicas, whose names are numbers from 1 on.
    pub(crate) fn start(replicas: u32, server: &str) -> Result<Self, Failure> {
        let namespace = format!("/{}-{}", env!("CARGO_CRATE_NAME"), name_of_run()?);
        // All of them write into one pipe, which keeps their lines in the order in which they were written.
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

    /// The next line that any of the replicas prints.
    pub(crate) fn next_line(&self) -> Result<String, Failure> {
        self.lines.recv_timeout(PATIENCE).map_err(|_| "the replicas are silent".into())
    }

    /// Ends a replica without a farewell (SIGKILL), and says when.
    pub(crate) fn kill(&mut self, name: u32) -> Instant {
        println!("replica {name} is killed");
        drop(self.processes.remove(&name));
        Instant::now()
    }

    /// Tells all to end (SIGTERM), waits until they have, and returns the lines that nobody read.
    pub(crate) fn end(mut self) -> Result<Vec<String>, Failure> {
        for process in self.processes.values() {
            kill_process(Pid::from_child(&process.child), Signal::TERM)?;
        }
        for (name, process) in &mut self.processes {
            let status = process.child.wait()?;
            if !status.success() {
                return Err(format!("replica {name} did not end well: {status}").into());
            }
        }
        // Ends with the last of those who write into the pipe.
        Ok(self.lines.iter().collect())
    }
}

/// As short as a server with ZooKeeper's default tick allows.
const SESSION: Duration = Duration::from_secs(4);
/// How long the replicas may be silent, on a machine that does many other things.
const PATIENCE: Duration = Duration::from_secs(60);
