//! Measures what it costs to ask who leads, in time and in requests.
//!
//! ```text
//! cargo bench -p zklock --bench leadership
//! ```
//!
//! prints one line for each way to ask; `--help` says what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

#[path = "program/mod.rs"]
mod program;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use zklock::{Client, Config, LeaderLatch, leader_only};
use zklock_testkit::ZooKeeper;

use program::Failure;

/// Measures what it costs to ask who leads, in time and in requests.
///
/// Two clients take part in the same elections. Each line names the client that was asked and the way of
/// asking; `skipped` is a call of a function under `#[leader_only]` on the follower. The time of one call is
/// the median of the batches' means. The requests are those that the server counted meanwhile
/// (`zk_packets_received` of its four-letter word `mntr`). None of them can be a heartbeat: sessions time out
/// after ten minutes and send a heartbeat only once a minute, and a measurement that takes longer than ten
/// seconds fails.
#[derive(Parser)]
#[command(name = "leadership", bin_name = "cargo bench -p zklock --bench leadership --")]
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

fn measure(options: &Options) -> Result<(), Failure> {
    let server = ZooKeeper::builder().max_session_timeout(SESSION).start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(ask_everybody(options, &server))
}

async fn ask_everybody(options: &Options, server: &ZooKeeper) -> Result<(), Failure> {
    let bench = Bench { options, server };
    let (leader, follower) = (Replica::join(server).await?, Replica::join(server).await?);
    settled(server).await?;
    bench.who_leads(&leader, "leader").await?;
    bench.who_leads(&follower, "follower").await?;
    zklock::install(follower.client.clone())?;
    bench.line("skipped", "installed", async || sweep().await).await?;
    let scoped = bench.line("skipped", "scoped", async || sweep().await);
    zklock::scope(follower.client.clone(), scoped).await?;
    let interpolated = bench.line("skipped", "interpolated", async || sweep_shard(black_box(7)).await);
    zklock::scope(follower.client.clone(), interpolated).await?;
    for replica in [leader, follower] {
        drop(replica.latch);
        replica.client.shutdown(GRACE).await;
    }
    Ok(())
}

/// Waits until the candidates have set all of their watches. In each election, the leader watches its own
/// node; the follower watches the leader's node, the list and its own node.
async fn settled(server: &ZooKeeper) -> Result<(), Failure> {
    let start = Instant::now();
    while server.watch_count() < 4 * ELECTIONS {
        if start.elapsed() > LONGEST {
            return Err("the candidates did not set all of their watches in time".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[leader_only(path = "/sweeper")]
async fn sweep() {
    unreachable!("only the follower is asked")
}

#[leader_only(path = "/shards/{shard}")]
async fn sweep_shard(shard: u32) {
    unreachable!("only the follower of shard {shard} is asked")
}

/// A client in the elections, asked through its latch and through annotated functions.
struct Replica {
    client: Client,
    latch: LeaderLatch,
}

impl Replica {
    async fn join(server: &ZooKeeper) -> Result<Self, Failure> {
        let client = Config::new(server.connect_string())
            .session_timeout(SESSION)
            .server_timeout(SESSION / 3)
            .connect()
            .await?;
        for path in [SWEEPER, SHARD] {
            client.leader(path)?.join().await?;
        }
        let latch = client.leader_latch(LATCH)?;
        latch.settled().await?;
        Ok(Self { client, latch })
    }
}

struct Bench<'a> {
    options: &'a Options,
    server: &'a ZooKeeper,
}

impl Bench<'_> {
    /// Asks a replica in each way whether it leads.
    async fn who_leads(&self, replica: &Replica, whom: &str) -> Result<(), Failure> {
        let Replica { client, latch } = replica;
        let leader = client.leader(SWEEPER)?;
        self.line("LeaderLatch::is_leader", whom, async || latch.is_leader()).await?;
        self.line("Leader::is_leader", whom, async || leader.is_leader()).await?;
        let by_path = self.line("zklock::is_leader", whom, async || zklock::is_leader(black_box(SWEEPER)));
        zklock::scope(client.clone(), by_path).await
    }

    /// Measures one way of asking and prints its cost.
    async fn line<T>(&self, question: &str, whom: &str, ask: impl AsyncFn() -> T) -> Result<(), Failure> {
        let Options { batches, calls, .. } = *self.options;
        let (before, start) = (self.server.packets_received(), Instant::now());
        let mut means = Vec::with_capacity(batches as usize);
        for _ in 0..batches {
            means.push(mean(calls, &ask).await);
        }
        let elapsed = start.elapsed();
        // The second question is itself counted.
        let requests = self.server.packets_received() - before - 1;
        if elapsed > LONGEST {
            return Err(format!("{question} took {elapsed:?}: heartbeats may be counted").into());
        }
        means.sort_unstable_by(f64::total_cmp);
        let (median, asked) = (means[means.len() / 2], u64::from(batches) * u64::from(calls));
        println!("zklock {question} of={whom} calls={asked} ns_per_call={median:.1} requests={requests}");
        Ok(())
    }
}

/// Returns the mean time of a call, in nanoseconds.
async fn mean<T>(calls: u32, ask: &impl AsyncFn() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(ask().await);
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

/// The election of [`sweep`].
const SWEEPER: &str = "/sweeper";
const SHARD: &str = "/shards/7";
const LATCH: &str = "/latch";
const ELECTIONS: u64 = 3;

/// The session timeout: ten times the interval between heartbeats.
const SESSION: Duration = Duration::from_secs(600);

/// The longest time that a measurement may take.
const LONGEST: Duration = Duration::from_secs(10);

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);
