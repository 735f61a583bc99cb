//! Measures the ways in which contenders can wait for a lock on ZooKeeper.
//!
//! ```text
//! cargo bench -p zklock-bench --bench schemes -- --contenders 2,8,32,128
//! ```
//!
//! prints a line for each measurement, and then a table; `--help` says what the schemes are and what the figures mean.
//!
//! * `options`: the command line.
//! * `scheme`: the schemes, and the sessions of their contenders.
//! * `herd`: the schemes that zklock does not use, on `zookeeper-client` alone.
//! * `contender`: one contender, which repeats operations.
//! * `section`: the critical section, which checks that one contender at a time is inside.
//! * `figures`: the result.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::JoinSet;
use zklock_testkit::ZooKeeper;

use crate::counters::Counters;
use crate::figures::{Figures, table};
use crate::options::Options;
use crate::program::Failure;
use crate::scheme::Measurement;
use crate::section::Section;

mod contender;
#[path = "../contention/counters.rs"]
mod counters;
mod figures;
mod herd;
mod options;
#[path = "../contention/parents.rs"]
mod parents;
#[path = "../contention/percentile.rs"]
mod percentile;
#[path = "../program/mod.rs"]
mod program;
mod scheme;
mod section;

fn main() -> ExitCode {
    program::run(|options: Options| measure(&options))
}

fn measure(options: &Options) -> Result<(), Failure> {
    let own = if options.server.is_none() { Some(ZooKeeper::start()?) } else { None };
    let given = options.server.as_deref();
    let server = own.as_ref().map(ZooKeeper::connect_string).or(given).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut measured = Vec::new();
    for measurement in options.measurements() {
        let figures = runtime.block_on(contend(&measurement, server, options.seconds))?;
        println!("{}", figures.line(&measurement));
        measured.push((measurement, figures));
    }
    println!("\n{}", table(&measured));
    Ok(())
}

/// Lets all contenders repeat operations, and measures them while all contend.
async fn contend(measurement: &Measurement, server: &str, time: Duration) -> Result<Figures, Failure> {
    let namespace = format!("/zklock-schemes/{:x}", SystemTime::UNIX_EPOCH.elapsed()?.as_nanos());
    let contenders = measurement.connect(server, &namespace).await?;
    let (section, mut running) = (Arc::new(Section::default()), JoinSet::new());
    for contender in contenders {
        let section = Arc::clone(&section);
        running.spawn(async move { contender.repeat(&section).await });
    }
    tokio::time::sleep(WARM_UP).await;
    let (before, operations, start) = (Counters::of(server)?, section.operations(), Instant::now());
    tokio::time::sleep(time).await;
    let (counted, end) = (Counters::of(server)?.since(&before), Instant::now());
    let operations = section.operations() - operations;
    section.end();
    let (mut contenders, mut all) = (Vec::new(), Vec::new());
    while let Some(ended) = running.join_next().await {
        let (contender, waits) = ended??;
        contenders.push(contender);
        all.extend(waits);
    }
    section.check(all.len())?;
    for contender in contenders {
        contender.close().await;
    }
    let waits = all.into_iter().filter(|wait| (start..end).contains(&wait.until));
    Ok(Figures::new(waits.map(|wait| wait.length).collect(), operations, end - start, counted))
}

/// Long enough for connections and caches, and for the first race of all contenders.
const WARM_UP: Duration = Duration::from_secs(1);
