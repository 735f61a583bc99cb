//! A hundred tasks each add 1 to a counter file that only the lock protects.
//!
//! ```text
//! cargo run --example quickstart
//! cargo run --example quickstart -- --processes 4
//! ```
//!
//! It needs nothing but Rust: it runs an embedded ZooKeeper server, unless `ZKLOCK_CONNECT=host:port` names
//! one.
//!
//! Every tenth addition prints the holder of the lock. The last line is `counter = 100`, because no addition
//! was lost. If you remove the lock from [`add_one`], most of them are lost.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "support/setting.rs"]
mod setting;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs, io, process};

use clap::Parser;
use tokio::task::JoinSet;

use setting::{Failure, config, end, name_of_run, server};

const TASKS: u32 = 100;

/// Reads the number, lets time pass, and writes the next one.
#[zklock::distributed_lock(path = "/quickstart/{share.run}/counter", wait = "2m", guard = held)]
async fn add_one(share: &Share, task: u32) -> Result<(), Failure> {
    let counter = read(&share.file)? + 1;
    tokio::time::sleep(Duration::from_millis(1)).await;
    fs::write(&share.file, counter.to_string())?;
    if counter % 10 == 0 {
        let (process, token) = (process::id(), held.fencing_token());
        println!("task {task} of process {process} holds the lock with token {token}: counter = {counter}");
    }
    Ok(())
}

/// Does one process's share of the work, running all of its tasks at once.
#[tokio::main]
async fn work(share: Share) -> Result<(), Failure> {
    zklock::install(config(&share.server)?.connect().await?)?;
    let mut tasks = JoinSet::new();
    for task in (share.first..=TASKS).step_by(share.processes as usize) {
        let share = share.clone();
        tasks.spawn(async move { add_one(&share, task).await });
    }
    let outcome = tasks.join_all().await.into_iter().collect();
    zklock::shutdown(Duration::from_secs(10)).await;
    outcome
}

/// Counts with this number of processes and prints the result.
fn count(processes: u32) -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let counter = tempfile::NamedTempFile::new()?;
    fs::write(&counter, "0")?;
    let file = counter.path().to_owned();
    let share = Share { server, file, run: name_of_run()?, first: 1, processes };
    let all_work = if processes == 1 { work } else { work_in_copies };
    all_work(share)?;
    let counted = read(counter.path())?;
    println!("counter = {counted}");
    if counted == TASKS { Ok(()) } else { Err("additions were lost".into()) }
}

/// Starts copies of this program that share the work, and waits for them.
fn work_in_copies(share: Share) -> Result<(), Failure> {
    let copies: Vec<_> =
        (1..=share.processes).map(|first| share.command(first)?.spawn()).collect::<io::Result<_>>()?;
    let ends: Vec<_> = copies.into_iter().map(|mut copy| copy.wait()).collect::<io::Result<_>>()?;
    let failed = ends.iter().find(|end| !end.success());
    failed.map_or(Ok(()), |end| Err(format!("a copy failed: {end}").into()))
}

fn read(counter: &Path) -> Result<u32, Failure> {
    Ok(fs::read_to_string(counter)?.parse()?)
}

#[derive(Parser)]
struct Options {
    /// The number of processes that share the work.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(TASKS)))]
    processes: u32,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(clap::Subcommand)]
enum Role {
    #[command(hide = true)]
    Work(Share),
}

/// One process's share of a run: every n-th task from `first` on, where n is the number of processes.
#[derive(Clone, clap::Args)]
struct Share {
    server: String,
    file: PathBuf,
    /// Keeps the locks of two runs on one server apart.
    run: String,
    first: u32,
    processes: u32,
}

impl Share {
    /// Returns the command of a copy of this program that does the same work from another first task.
    fn command(&self, first: u32) -> io::Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("work").arg(&self.server).arg(&self.file).arg(&self.run);
        command.args([first, self.processes].map(|number| number.to_string()));
        Ok(command)
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    end(match options.role {
        Some(Role::Work(share)) => work(share),
        None => count(options.processes),
    })
}
