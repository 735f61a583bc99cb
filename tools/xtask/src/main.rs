//! Commands for zklock's developers, run as `cargo xtask <command>`.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::step::{Outcome, Report, Step, announce};

mod bench;
mod build_time;
mod built;
mod chaos;
mod check;
mod guards;
mod lanes;
mod step;
mod system;
mod test;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Commands for zklock's developers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs every test and every example, with a real ZooKeeper, Curator, PostgreSQL, Kerberos and promtool,
    /// which are installed if missing.
    Test,
    /// Checks the format, the lints, the documentation and the packages.
    Check,
    /// Runs `check` and `test` beside each other.
    Ci,
    /// Measures the speed of zklock beside that of Curator, on a ZooKeeper that it starts.
    Bench(bench::Options),
    /// Measures how long the compiler needs for annotated functions and for calls written by hand.
    BuildTime(build_time::Options),
    /// Runs a campaign of random faults against many processes on a real ensemble, and checks their histories.
    #[command(disable_help_flag = true)]
    Chaos(chaos::Options),
    /// Takes guards out of a copy of the code, and fails unless a campaign or a simulation notices each.
    Guards(guards::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test => test().map(|reports| summarize(&reports)),
        Command::Check => check().map(|reports| summarize(&reports)),
        Command::Ci => ci().map(|reports| summarize(&reports)),
        Command::Bench(options) => bench::run(&options),
        Command::BuildTime(options) => build_time::run(&options),
        Command::Chaos(options) => chaos::run(&options),
        Command::Guards(options) => guards::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {}", with_causes(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn test() -> Outcome<Vec<Report>> {
    system::prepare()?;
    let mut tests = test::prepare()?;
    tests.lanes.push(tests.builds.into_iter().map(Step::nice).collect());
    Ok(joined([vec![tests.report], lanes::run(tests.lanes)?]))
}

fn check() -> Outcome<Vec<Report>> {
    system::prepare()?;
    let format = lanes::run(vec![check::format()])?;
    let trees = check::without_testkit()?;
    Ok(joined([format, trees, lanes::run(vec![check::steps()])?]))
}

/// The checks run while the tests wait for their servers.
fn ci() -> Outcome<Vec<Report>> {
    system::prepare()?;
    let format = lanes::run(vec![check::format()])?;
    let trees = check::without_testkit()?;
    let mut tests = test::prepare()?;
    tests.lanes.push(tests.builds.into_iter().chain(check::steps()).map(Step::nice).collect());
    Ok(joined([format, trees, vec![tests.report], lanes::run(tests.lanes)?]))
}

fn joined<const N: usize>(reports: [Vec<Report>; N]) -> Vec<Report> {
    reports.into_iter().flatten().collect()
}

/// Prints how long each step took, and how many tests passed.
fn summarize(reports: &[Report]) {
    let lines =
        reports.iter().map(|report| format!("{:8.1} s  {}\n", report.took.as_secs_f64(), report.title));
    announce(&format!("the steps\n{}", lines.collect::<String>()));
    println!("{} passed, 0 failed", reports.iter().map(Report::passed).sum::<usize>());
}

fn with_causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}
