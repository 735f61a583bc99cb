//! Measures what it costs to enter a lock again, and other calls that zklock answers from memory.
//!
//! ```text
//! cargo bench -p zklock --bench again
//! ```
//!
//! prints one line for each kind of call; `--help` says what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

#[path = "../program/mod.rs"]
mod program;
mod timing;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zklock::{Client, Config, LockError, distributed_lock, leader_only};
use zklock_testkit::EmbeddedServer;

use program::Failure;
use timing::{Cost, Timing};

/// Measures what it costs to enter a lock again, and other calls that zklock answers from memory.
///
/// Each line has the time of one call and its allocations. The calls run in batches; the time is the mean of the
/// fastest batch, because other programs only ever make a batch slower. That of calls which do nothing is subtracted.
/// `guard`: a lock is entered again, and its guard dropped. `release`: the release is awaited instead. `annotated`: a
/// function under `#[distributed_lock]` whose lock the caller holds, with a constant path or with a value in it; the
/// cost of the same function without the attribute is subtracted instead. `scoped`: the default client is that of a scope.
/// `deeper`: the caller has taken another lock inside of the one that is entered again. `is_leader`: a follower is asked.
/// `skipped`: a call of a function under `#[leader_only]` on the follower.
#[derive(Parser)]
#[command(name = "again", bin_name = "cargo bench -p zklock --bench again --")]
struct Options {
    /// The number of batches.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    batches: u32,

    /// The number of calls in each batch.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
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
    let leader = Config::new(server.connect_string()).connect().await?;
    let follower = Config::new(server.connect_string()).connect().await?;
    for client in [&leader, &follower] {
        for path in [SWEEPER, SHARD] {
            client.leader(path)?.join().await?;
        }
    }
    zklock::install(follower.clone())?;
    let timing = Timing { batches: options.batches, calls: options.calls };
    enter_again(&timing, &follower).await?;
    annotated(&timing, &follower).await?;
    follow(&timing, &follower)?;
    // Last: once a scope was entered, every call looks for one.
    scoped(&timing, &follower).await?;
    zklock::shutdown(GRACE).await;
    leader.shutdown(GRACE).await;
    Ok(())
}

async fn enter_again(timing: &Timing, client: &Client) -> Result<(), Failure> {
    let nothing = timing.cost(async || Ok(()))?;
    let (mutex, lock) = (client.mutex("/mutex")?, client.rwlock("/rwlock")?);
    let held = mutex.lock().await?;
    let inside = async {
        line("mutex guard", timing.cost(async || mutex.lock().await.map(drop))? - nothing);
        line("mutex release", timing.cost(async || mutex.lock().await?.release().await)? - nothing);
        Ok::<_, Failure>(())
    };
    held.scope(inside).await?;
    let written = lock.write().await?;
    let inside = async {
        line("read inside write guard", timing.cost(async || lock.read().await.map(drop))? - nothing);
        line(
            "read inside write release",
            timing.cost(async || lock.read().await?.release().await)? - nothing,
        );
        Ok::<_, Failure>(())
    };
    written.scope(inside).await?;
    let deeper = async {
        line("mutex guard deeper", timing.cost(async || mutex.lock().await.map(drop))? - nothing);
        Ok::<_, Failure>(())
    };
    held.scope(async { written.scope(deeper).await }).await?;
    held.release().await?;
    written.release().await?;
    Ok(())
}

async fn annotated(timing: &Timing, client: &Client) -> Result<(), Failure> {
    let plain = timing.cost(async || plain(black_box(7)).await)?;
    let constant = async || Ok::<_, Failure>(timing.cost(async || order(black_box(7)).await)? - plain);
    let held = client.mutex("/orders")?.lock().await?;
    line("annotated constant", held.scope(constant()).await?);
    let below = client.mutex("/orders/7")?.lock().await?;
    let inside = async { timing.cost(async || order_of(black_box(7)).await) };
    line("annotated interpolated", below.scope(inside).await? - plain);
    let deeper = held.scope(async { below.scope(constant()).await });
    line("annotated constant deeper", deeper.await?);
    held.release().await?;
    below.release().await?;
    Ok(())
}

async fn scoped(timing: &Timing, client: &Client) -> Result<(), Failure> {
    let plain = timing.cost(async || plain(black_box(7)).await)?;
    let held = client.mutex("/orders")?.lock().await?;
    let inside = async { timing.cost(async || order(black_box(7)).await) };
    let scoped = zklock::scope(client.clone(), held.scope(inside));
    line("annotated constant scoped", scoped.await? - plain);
    held.release().await?;
    Ok(())
}

fn follow(timing: &Timing, client: &Client) -> Result<(), Failure> {
    let leader = client.leader(SWEEPER)?;
    let nothing = timing.cost(async || Ok(()))?;
    line("Leader::is_leader", timing.cost(async || Ok(leader.is_leader()))? - nothing);
    line("zklock::is_leader", timing.cost(async || Ok(zklock::is_leader(black_box(SWEEPER))))? - nothing);
    line("skipped constant", timing.cost(async || sweep().await)? - nothing);
    line("skipped interpolated", timing.cost(async || sweep_shard(black_box(7)).await)? - nothing);
    Ok(())
}

fn line(call: &str, cost: Cost) {
    println!("zklock again call={call:?} {cost}");
}

async fn plain(order: u64) -> Result<u64, LockError> {
    Ok(order + 1)
}

#[distributed_lock(path = "/orders")]
async fn order(order: u64) -> Result<u64, LockError> {
    Ok(order + 1)
}

#[distributed_lock(path = "/orders/{order}")]
async fn order_of(order: u64) -> Result<u64, LockError> {
    Ok(order + 1)
}

#[leader_only(path = "/sweeper")]
async fn sweep() -> Result<(), LockError> {
    unreachable!("only the follower is asked")
}

#[leader_only(path = "/shards/{shard}")]
async fn sweep_shard(shard: u32) -> Result<(), LockError> {
    unreachable!("only the follower of shard {shard} is asked")
}

/// The election of [`sweep`].
const SWEEPER: &str = "/sweeper";
const SHARD: &str = "/shards/7";

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);
