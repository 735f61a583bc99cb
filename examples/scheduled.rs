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

#[path = "support/fleet.rs"]
mod fleet;
#[path = "support/setting.rs"]
mod setting;
#[path = "support/terms.rs"]
mod terms;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zklock::leader_only;

use fleet::{Fleet, Replica, Role, end_with_parent, told_to_end};
use setting::{Failure, end, server};
use terms::Terms;

/// The work to be done once in the whole fleet at each tick.
#[leader_only(guard = term)]
async fn sweep(replica: u32) {
    println!("replica {replica}: sweeps with token {}", u128::from(term.fencing_token()));
}

/// Runs the service: each tick of its timer calls [`sweep`], which runs only on the leader.
#[tokio::main]
async fn serve(replica: Replica) -> Result<(), Failure> {
    let told_to_end = told_to_end()?;
    zklock::install(replica.config()?.connect().await?)?;
    let leads = zklock::leader("/leader")?.join().await?;
    println!("replica {}: {}", replica.name, if leads { "leads" } else { "follows" });

    let mut timer = tokio::time::interval(Duration::from_millis(250));
    let ticks = async {
        loop {
            timer.tick().await;
            sweep(replica.name).await;
        }
    };
    tokio::select! {
        () = ticks => {}
        () = told_to_end => {}
    }
    zklock::shutdown(Duration::from_secs(5)).await;
    println!("replica {}: ends", replica.name);
    Ok(())
}

/// The sweeps of the fleet, in order.
struct Sweeps {
    fleet: Fleet,
    terms: Terms<u32>,
}

impl Sweeps {
    /// Waits for the next sweep and returns its replica.
    fn next(&mut self) -> Result<u32, Failure> {
        loop {
            if let Some(replica) = note(&mut self.terms, &self.fleet.next_line()?)? {
                return Ok(replica);
            }
        }
    }

    fn third(&mut self) -> Result<u32, Failure> {
        self.next()?;
        self.next()?;
        self.next()
    }
}

/// Checks that a sweep follows the earlier ones and returns its replica, or `None` for any other line.
fn note(terms: &mut Terms<u32>, line: &str) -> Result<Option<u32>, Failure> {
    let sweep = line.strip_prefix("replica ").and_then(|rest| rest.split_once(": sweeps with token "));
    let Some((replica, token)) = sweep else { return Ok(None) };
    let replica = replica.parse()?;
    terms.note(&replica, token.parse()?)?;
    Ok(Some(replica))
}

/// Lets the replicas sweep, and kills the leader in between.
fn watch() -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let mut sweeps = Sweeps { fleet: Fleet::start(3, &server)?, terms: Terms::new() };
    let leader = sweeps.third()?;
    let killed = sweeps.fleet.kill(leader);
    let next = loop {
        // The last sweeps of the killed replica may not have been read yet.
        match sweeps.next()? {
            replica if replica == leader => {}
            replica => break replica,
        }
    };
    let took = killed.elapsed().as_secs_f32();
    println!("replica {next} took over {took:.1} s after replica {leader} was killed");
    sweeps.third()?;

    let Sweeps { fleet, mut terms } = sweeps;
    for line in fleet.end()? {
        note(&mut terms, &line)?;
    }
    println!("every tick ran on one replica");
    Ok(())
}

#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Option<Role>,
}

fn main() -> ExitCode {
    end(match Options::parse().role {
        Some(Role::Replica(replica)) => {
            end_with_parent();
            serve(replica)
        }
        None => watch(),
    })
}
