//! Commands for zklock's developers, run as `cargo xtask <command>`.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod check;
mod step;
mod test;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Commands for zklock's developers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Finds or installs ZooKeeper and Curator, then runs every test and every example.
    Test,
    /// Checks the format, the lints and the documentation.
    Check,
    /// Runs `check`, then `test`.
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test => test::run(),
        Command::Check => check::run(),
        Command::Ci => check::run().and_then(|()| test::run()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {}", with_causes(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn with_causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}
