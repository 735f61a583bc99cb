//! Measures what it costs to observe locks.
//!
//! ```text
//! cargo bench -p zklock --bench observed
//! cargo bench -p zklock --bench observed --features tracing/max_level_off
//! ```
//!
//! prints one line for each observer; `--help` says what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

mod line;
#[path = "../program/mod.rs"]
mod program;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, dispatcher};
use zklock::{Client, Config};
use zklock_testkit::EmbeddedServer;

use line::Line;
use program::Failure;

/// Measures what it costs to observe locks.
///
/// The calls of one thread pass a lock on, without a request. Each line has the median time of one call, from its start
/// to its release. `nobody`: there is neither a subscriber of `tracing` nor a listener. `warnings`: a subscriber takes
/// log lines and no spans. `spans`: it takes spans, and writes nothing. `events`: a listener takes events. With the
/// feature `tracing/max_level_off`, the spans are not compiled, and `nobody` shows their cost by the difference.
#[derive(Parser)]
#[command(name = "observed", bin_name = "cargo bench -p zklock --bench observed --")]
struct Options {
    /// The number of batches.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    batches: u32,

    /// The number of calls in each batch.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    program::run(|options: Options| measure(&options))
}

#[tokio::main(flavor = "current_thread")]
async fn measure(options: &Options) -> Result<(), Failure> {
    let server = EmbeddedServer::start()?;
    let client = Config::new(server.connect_string()).connect().await?;
    line("nobody", options, &client).await?;
    for (name, most) in [("warnings", LevelFilter::WARN), ("spans", LevelFilter::INFO)] {
        let subscriber = tracing_subscriber::fmt().with_max_level(most).with_writer(std::io::sink);
        let observed = dispatcher::set_default(&Dispatch::new(subscriber.finish()));
        line(name, options, &client).await?;
        drop(observed);
    }
    let mut events = client.events();
    let listener = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(async { while events.next().await.is_some() {} });
        Ok::<_, std::io::Error>(())
    });
    line("events", options, &client).await?;
    client.shutdown(GRACE).await;
    drop(client);
    listener.join().map_err(|_| "the listener failed")??;
    Ok(())
}

/// Prints the median of the batches.
async fn line(observer: &str, options: &Options, client: &Client) -> Result<(), Failure> {
    let mut line = Line::start(client.mutex(format!("/{observer}"))?).await?;
    let mut batches = Vec::new();
    for _ in 0..options.batches {
        let start = Instant::now();
        for _ in 0..options.calls {
            line.pass()?;
            line.settle().await?;
        }
        batches.push(start.elapsed() / options.calls);
    }
    batches.sort_unstable();
    println!("observer={observer} call_ns={}", batches[batches.len() / 2].as_nanos());
    Ok(())
}

const GRACE: Duration = Duration::from_secs(5);
