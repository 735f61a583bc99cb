//! Measures a client whose waiters have a contender each, and an idle client.
//!
//! ```text
//! cargo bench -p zklock-bench --bench crowd -- --waiters 8000
//! ```
//!
//! prints one line for each; `--help` says what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::task::JoinSet;
use zklock::{Client, Config, LockError};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{Proxy, ZooKeeper};

use program::Failure;

/// Measures a client whose waiters at one lock have a contender each (`Queueing::Task`), and an idle client.
///
/// `waiters`: the time until all are in the queue, the requests per second while all wait, the median time of
/// 50 acquisitions of an unrelated free lock, how late the last deadline was answered, and whether an
/// unrelated lock was held throughout. `idle`: the requests per second of a client that holds one lock.
/// A proxy in front of the server counts the requests, pings and heartbeats included.
#[derive(Parser)]
#[command(name = "crowd", bin_name = "cargo bench -p zklock-bench --bench crowd --")]
struct Options {
    /// The number of waiters.
    #[arg(long, default_value_t = 8000)]
    waiters: usize,

    /// How long the waiters wait, in seconds. All have to be in the queue before.
    #[arg(long, default_value_t = 60)]
    wait: u64,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    program::run(|options: Options| measure(&options))
}

fn measure(options: &Options) -> Result<(), Failure> {
    let server = ZooKeeper::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        if options.waiters > 0 {
            wait(options, &server).await?;
        }
        idle(&server).await
    })
}

async fn wait(options: &Options, server: &ZooKeeper) -> Result<(), Failure> {
    let (proxy, client) = connect(server).await?;
    let other = Config::new(server.connect_string()).connect().await?;
    let (holder, held) = (other.mutex("/crowd")?.lock().await?, client.mutex("/held")?.lock().await?);
    let (start, deadline) = (Instant::now(), Duration::from_secs(options.wait));
    let mut waiting = JoinSet::new();
    for _ in 0..options.waiters {
        let mutex = client.mutex("/crowd")?.queueing_by_task();
        waiting.spawn(async move {
            let begun = Instant::now();
            let outcome = mutex.lock_timeout(deadline).await.map(drop);
            (outcome, begun.elapsed().saturating_sub(deadline))
        });
    }
    until_there_are(server, options.waiters + 2).await?;
    let entered = start.elapsed();
    calm(&proxy).await?;
    let before = proxy.requests_total();
    tokio::time::sleep(WINDOW).await;
    let asked = (proxy.requests_total() - before) as f64 / WINDOW.as_secs_f64();
    let free = median_of_free(&client).await?;
    if waiting.try_join_next().is_some() {
        return Err("the waiters' time was over before the measurement was: raise --wait".into());
    }
    let mut latest = Duration::ZERO;
    while let Some(ended) = waiting.join_next().await {
        let (outcome, late) = ended?;
        if !matches!(&outcome, Err(error) if LockError::is_contended(error)) {
            return Err(format!("a waiter ended with {outcome:?}").into());
        }
        latest = latest.max(late);
    }
    let kept = held.is_held();
    println!(
        "waiters={} entered_s={:.1} requests_per_s={asked:.1} free_lock_ms={:.2} latest_deadline_ms={:.1} kept={kept}",
        options.waiters,
        entered.as_secs_f64(),
        free.as_secs_f64() * 1e3,
        latest.as_secs_f64() * 1e3,
    );
    held.release().await?;
    holder.release().await?;
    client.shutdown(GRACE).await;
    Ok(())
}

async fn idle(server: &ZooKeeper) -> Result<(), Failure> {
    let (proxy, client) = connect(server).await?;
    let guard = client.mutex("/idle")?.lock().await?;
    let (before, writes) = (proxy.requests_total(), proxy.requests(Opcode::MULTI));
    tokio::time::sleep(IDLE).await;
    let per_second = |requests: u64| requests as f64 / IDLE.as_secs_f64();
    println!(
        "idle requests_per_s={:.2} writes_per_s={:.2}",
        per_second(proxy.requests_total() - before),
        per_second(proxy.requests(Opcode::MULTI) - writes),
    );
    guard.release().await?;
    client.shutdown(GRACE).await;
    Ok(())
}

async fn connect(server: &ZooKeeper) -> Result<(Proxy, Client), Failure> {
    let proxy = Proxy::start(server.address())?;
    let client = Config::new(proxy.connect_string()).connect().await?;
    Ok((proxy, client))
}

async fn median_of_free(client: &Client) -> Result<Duration, Failure> {
    let mut times = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        client.mutex("/free")?.lock().await?.release().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

async fn until_there_are(server: &ZooKeeper, contenders: usize) -> Result<(), Failure> {
    let (start, line) = (Instant::now(), format!("zk_ephemerals_count\t{contenders}\n"));
    while !server.four_letter("mntr")?.contains(&line) {
        if start.elapsed() > LONGEST {
            return Err(format!("there are not {contenders} contenders").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Waits until the client has set all watches for which it has room.
async fn calm(proxy: &Proxy) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        let before = proxy.requests_total();
        tokio::time::sleep(Duration::from_secs(1)).await;
        if proxy.requests_total() - before < 20 {
            return Ok(());
        }
        if start.elapsed() > LONGEST {
            return Err("the client is not calm".into());
        }
    }
}

const WINDOW: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(10);
