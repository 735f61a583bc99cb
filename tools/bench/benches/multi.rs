//! Measures what it costs to take two free locks as one, beside one free lock.
//!
//! ```text
//! cargo bench -p zklock-bench --bench multi
//! ```
//!
//! prints one line; `--help` says what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use zklock::{Client, Config, LockError};
use zklock_testkit::ZooKeeper;

use program::Failure;

/// Measures what it costs to take two free locks as one, beside one free lock.
///
/// One client takes and releases a mutex, and then a multi-lock of two mutexes, in turn. `again_`: the client takes the
/// same locks each time. `first_`: it takes locks that it never had before, and whose nodes exist.
/// `single_us`, `pair_us`: the medians of the time from the call to the end of the release that the servers acknowledge.
/// `ratio`: the second of them divided by the first.
#[derive(Parser)]
#[command(name = "multi", bin_name = "cargo bench -p zklock-bench --bench multi --")]
struct Options {
    /// The number of rounds.
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    program::run(|options: Options| measure(&options))
}

#[tokio::main(worker_threads = 2)]
async fn measure(options: &Options) -> Result<(), Failure> {
    let server = ZooKeeper::start()?;
    let client = Config::new(server.connect_string()).connect().await?;
    let same = ["a", "b", "c"].map(|name| format!("/again/{name}"));
    for _ in 0..WARM_UP {
        taken(&client, &same).await?;
    }
    let again = figures("again", options.rounds, async |_| taken(&client, &same).await).await?;
    let maker = Config::new(server.connect_string()).connect().await?;
    let fresh = |round: u32| ["a", "b", "c"].map(|name| format!("/first/{round}/{name}"));
    for round in 0..options.rounds {
        taken(&maker, &fresh(round)).await?;
    }
    let first = figures("first", options.rounds, async |round| taken(&client, &fresh(round)).await).await?;
    for client in [client, maker] {
        client.shutdown(GRACE).await;
    }
    println!("multi rounds={} {again} {first}", options.rounds);
    Ok(())
}

/// Returns the times to take and release one lock, and two locks as one.
async fn taken(client: &Client, [single, one, other]: &[String; 3]) -> Result<[Duration; 2], LockError> {
    let mutex = client.mutex(single)?;
    let start = Instant::now();
    mutex.lock().await?.release().await?;
    let alone = start.elapsed();
    let both = client.multi([one, other])?;
    let start = Instant::now();
    both.lock().await?.release().await?;
    Ok([alone, start.elapsed()])
}

/// Returns the figures of one way to take the locks.
async fn figures(
    way: &str,
    rounds: u32,
    round: impl AsyncFn(u32) -> Result<[Duration; 2], LockError>,
) -> Result<String, LockError> {
    let (mut singles, mut pairs) = (Vec::new(), Vec::new());
    for nth in 0..rounds {
        let [single, pair] = round(nth).await?;
        singles.push(single);
        pairs.push(pair);
    }
    let [single, pair] = [singles, pairs].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    });
    let ratio = pair / single;
    Ok(format!("{way}_single_us={single:.0} {way}_pair_us={pair:.0} {way}_ratio={ratio:.2}"))
}

const WARM_UP: u32 = 200;
const GRACE: Duration = Duration::from_secs(10);
