//! Commands for zklock's developers, run as `cargo xtask <command>`.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::step::{Report, announce};

mod bench;
mod chaos;
mod ci;
mod guards;
mod lanes;
mod soak;
mod step;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Commands for zklock's developers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs everything that `cargo test` leaves out, with a real ZooKeeper, Curator, PostgreSQL and promtool, which are
    /// installed if missing.
    Ci,
    /// Runs the long form of every test, with Kerberos too, and takes the guards out.
    Soak,
    /// Measures the speed of zklock beside that of Curator, on a ZooKeeper that it starts.
    Bench(bench::Options),
    /// Runs a campaign of random faults against many processes on a real ensemble, and checks their histories.
    #[command(disable_help_flag = true)]
    Chaos(chaos::Options),
    /// Takes guards out of a copy of the last commit, and fails unless a campaign or a test notices each.
    Guards(guards::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Ci => ci::run().map(|reports| summarize(&reports)),
        Command::Soak => soak::run().map(|reports| summarize(&reports)),
        Command::Bench(options) => bench::run(&options),
        Command::Chaos(options) => chaos::run(&options),
        Command::Guards(options) => guards::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints how long each step took, and how many tests passed.
fn summarize(reports: &[Report]) {
    let lines =
        reports.iter().map(|report| format!("{:8.1} s  {}\n", report.took.as_secs_f64(), report.title));
    announce(&format!("the steps\n{}", lines.collect::<String>()));
    println!("{} passed, 0 failed", reports.iter().map(Report::passed).sum::<usize>());
}
