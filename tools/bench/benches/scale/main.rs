//! Measures many waiters, many locks, many sessions, and the takeover from a killed process.
//!
//! ```text
//! cargo bench -p zklock-bench --bench scale -- waiters --tasks 10000
//! cargo bench -p zklock-bench --bench scale -- held --locks 9000
//! cargo bench -p zklock-bench --bench scale -- processes --sessions 1000
//! cargo bench -p zklock-bench --bench scale -- takeover --rounds 50
//! ```
//!
//! prints one line; `--help` behind the name of a measurement says what its figures mean.
//!
//! * `waiters`, `held`, `processes`, `takeover`: the measurements.
//! * `clients`: the clients, with a proxy in front of the server, and the resident memory of this process.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::program::Failure;

mod clients;
#[path = "../contention/counters.rs"]
mod counters;
mod held;
mod processes;
#[path = "../program/mod.rs"]
mod program;
mod takeover;
mod waiters;

/// Measures many waiters, many locks, many sessions, and the takeover from a killed process.
///
/// Each measurement starts a ZooKeeper of its own.
#[derive(Parser)]
#[command(name = "scale", bin_name = "cargo bench -p zklock-bench --bench scale --")]
struct Options {
    #[command(subcommand)]
    measurement: Measurement,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Measurement {
    Waiters(waiters::Options),
    Held(held::Options),
    Processes(processes::Options),
    Takeover(takeover::Options),
    /// Takes a lock and holds it until the standard input ends.
    #[command(hide = true)]
    Hold(takeover::Holding),
}

fn main() -> ExitCode {
    program::run(|options: Options| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let line = runtime.block_on(async {
            match options.measurement {
                Measurement::Waiters(options) => waiters::measure(options).await,
                Measurement::Held(options) => held::measure(options).await,
                Measurement::Processes(options) => processes::measure(options).await,
                Measurement::Takeover(options) => takeover::measure(options).await,
                Measurement::Hold(holding) => takeover::hold(holding).await,
            }
        })?;
        println!("{line}");
        Ok(())
    })
}
