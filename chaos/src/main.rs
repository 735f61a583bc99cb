//! A campaign against the promise of zklock: random faults, many processes, and a check of what they saw.
//!
//! `cargo xtask chaos` runs it.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bell;
mod campaign;
mod chronicle;
mod clock;
mod curator;
mod fleet;
mod injection;
mod journal;
mod options;
mod orders;
mod outsider;
mod schedule;
mod service;
mod settings;
mod worker;
mod workload;

#[derive(Debug, Parser)]
#[command(name = "zklock-chaos", about = "Random faults against many processes on a real ensemble")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a campaign, and fails if it finds a violation of the promise.
    Run(options::Options),
    /// Is one process of a campaign.
    #[command(hide = true)]
    Worker(orders::Orders),
    /// Is one process of a campaign that uses Curator.
    #[command(hide = true)]
    Curator(orders::Orders),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run(options) => campaign::run(&options),
        Command::Worker(orders) => worker::run(&orders),
        Command::Curator(orders) => curator::run(&orders),
    }
}
