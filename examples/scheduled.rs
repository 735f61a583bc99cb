//! A timer ticks on each of three replicas. Only the leader does the work, until it is killed.
//!
//! ```text
//! cargo run --example scheduled
//! ```
//!
//! Each replica is a process with its own session. The first process starts them, prints their output, kills
//! the leader and waits until another replica takes over, which happens when the leader's session has ended.
//! It needs nothing but Rust: it runs an embedded ZooKeeper server, unless `ZKLOCK_CONNECT=host:port` names
//! one.
//!
//! The last line is `every tick ran on one replica`. It is printed only if the fencing tokens of the ticks
//! prove it.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "support/setting.rs"]
#[allow(dead_code, reason = "the replicas read the environment alone")]
mod setting;
#[path = "support/terms.rs"]
mod terms;

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, BufReader, Lines, PipeReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use zklock::{Config, leader_only};

use setting::{Failure, end, name_of_run, server};
use terms::Terms;

/// The work to be done once in the whole fleet at each tick.
#[leader_only(guard = term)]
async fn sweep(replica: &str) {
    println!("replica {replica}: sweeps with token {}", u128::from(term.fencing_token()));
}

/// Runs the service until its input ends: each tick of its timer calls [`sweep`], which runs only on the leader.
#[tokio::main]
async fn serve(replica: &str) -> Result<(), Failure> {
    zklock::install(Config::from_env()?.connect().await?)?;
    let leads = zklock::leader("/leader")?.join().await?;
    println!("replica {replica}: {}", if leads { "leads" } else { "follows" });

    let mut timer = tokio::time::interval(Duration::from_millis(250));
    let ticks = async {
        loop {
            timer.tick().await;
            sweep(replica).await;
        }
    };
    tokio::select! {
        () = ticks => {}
        ended = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())) => drop(ended??),
    }
    zklock::shutdown(Duration::from_secs(5)).await;
    println!("replica {replica}: ends");
    Ok(())
}

/// The variable with the name of a replica, in its process.
const REPLICA: &str = "ZKLOCK_EXAMPLE_REPLICA";

/// The replicas that are alive, and their sweeps.
struct Fleet {
    /// The processes. Each of them ends when its input does, even if this process is killed.
    replicas: BTreeMap<u32, Child>,
    /// The output of all replicas, in the order in which they wrote it.
    lines: Lines<BufReader<PipeReader>>,
    terms: Terms<u32>,
}

impl Fleet {
    /// Starts replicas with these names. Their sessions end soon after they are killed.
    fn start(names: impl IntoIterator<Item = u32>, server: &str) -> Result<Self, Failure> {
        let namespace = format!("/scheduled-{}", name_of_run()?);
        let (output, input) = io::pipe()?;
        let start = |name: u32| {
            let mut command = Command::new(env::current_exe()?);
            command.env(REPLICA, name.to_string()).env("ZKLOCK_IDENTITY", format!("replica {name}"));
            command.env("ZKLOCK_CONNECT", server).env("ZKLOCK_NAMESPACE", &namespace);
            command.env("ZKLOCK_SESSION_TIMEOUT", "4s").stdin(Stdio::piped()).stdout(input.try_clone()?);
            Ok((name, command.spawn()?))
        };
        let replicas = names.into_iter().map(start).collect::<io::Result<_>>()?;
        Ok(Self { replicas, lines: BufReader::new(output).lines(), terms: Terms::new() })
    }

    /// Prints the lines of the replicas up to the next sweep, which must follow the earlier ones, and returns its replica;
    /// `None` if all replicas have ended.
    fn next_sweep(&mut self) -> Result<Option<u32>, Failure> {
        for line in &mut self.lines {
            let line = line?;
            println!("{line}");
            let sweep =
                line.strip_prefix("replica ").and_then(|rest| rest.split_once(": sweeps with token "));
            if let Some((replica, token)) = sweep {
                let replica = replica.parse()?;
                self.terms.note(&replica, token.parse()?)?;
                return Ok(Some(replica));
            }
        }
        Ok(None)
    }

    fn third_sweep(&mut self) -> Result<u32, Failure> {
        self.next_sweep()?;
        self.next_sweep()?;
        self.next_sweep()?.ok_or_else(|| "the replicas have ended".into())
    }

    /// Kills a replica without warning (SIGKILL).
    fn kill(&mut self, name: u32) -> io::Result<()> {
        println!("replica {name} is killed");
        let mut killed = self.replicas.remove(&name).expect("the leader is one of the replicas");
        let outcome = killed.kill();
        killed.wait()?;
        outcome
    }

    /// Lets all replicas end, and checks their last sweeps.
    fn end(mut self) -> Result<(), Failure> {
        self.replicas.values_mut().for_each(|replica| drop(replica.stdin.take()));
        while self.next_sweep()?.is_some() {}
        for (name, replica) in &mut self.replicas {
            let status = replica.wait()?;
            if !status.success() {
                return Err(format!("replica {name} failed: {status}").into());
            }
        }
        Ok(())
    }
}

/// Lets the replicas sweep, and kills the leader in between.
fn watch() -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let mut fleet = Fleet::start(1..=3, &server)?;
    let leader = fleet.third_sweep()?;
    fleet.kill(leader)?;
    let killed = Instant::now();
    let next = loop {
        // The last sweeps of the killed replica may not have been read yet.
        match fleet.next_sweep()?.ok_or("the replicas have ended")? {
            replica if replica == leader => {}
            replica => break replica,
        }
    };
    let took = killed.elapsed().as_secs_f32();
    println!("replica {next} took over {took:.1} s after replica {leader} was killed");
    fleet.third_sweep()?;
    fleet.end()?;
    println!("every tick ran on one replica");
    Ok(())
}

fn main() -> ExitCode {
    end(match env::var(REPLICA) {
        Ok(replica) => serve(&replica),
        Err(_) => watch(),
    })
}
