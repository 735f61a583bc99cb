//! A campaign against the promise of zklock: random faults, many processes, and a check of what they saw.
//!
//! `cargo xtask chaos` runs it.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod campaign;
mod fleet;
mod history;
mod injection;
mod journal;
mod options;
mod orders;
mod outsider;
mod schedule;
mod service;
mod worker;

#[derive(Debug, Parser)]
#[command(name = "zklock-chaos", about = "Random faults against many processes on a real ensemble")]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    campaign: options::Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks the histories that a campaign has kept.
    Check {
        /// The directory that was given with `--keep`.
        directory: std::path::PathBuf,
    },
    /// Is one process of a campaign.
    #[command(hide = true)]
    Worker {
        /// The orders of the process, as JSON.
        orders: String,
    },
}

fn main() -> ExitCode {
    let Arguments { command, campaign } = Arguments::parse();
    match command {
        None => campaign::run(&campaign),
        Some(Command::Check { directory }) => campaign::check(&directory),
        Some(Command::Worker { orders }) => worker::run(&orders),
    }
}
