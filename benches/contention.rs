//! Measures how fast locks are taken and released, and how many requests that costs.
//!
//! ```text
//! cargo bench --bench contention -- mutex --sessions 8 --tasks 1 --iterations 300
//! ```
//!
//! prints one line; `--help` says what the scenarios are and what the figures mean.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::{CommandFactory, Parser, ValueEnum};
use tokio::task::JoinSet;
use zklock::{Client, Config, LockError, MultiLock, Mutex, MutexGuard, RwLock, Semaphore};
use zklock_testkit::ZooKeeper;

type Failure = Box<dyn Error + Send + Sync>;

/// Measures how fast locks are taken and released, and how many requests that costs.
///
/// One operation takes a lock and then releases it, awaiting both; its latency covers both, including the
/// wait. Before the clock starts, all sessions are open and every task has done one operation. The requests
/// are those that the server counted meanwhile (`zk_packets_received` of its four-letter word `mntr`), so no
/// other client may use the server.
#[derive(Parser)]
#[command(name = "contention", bin_name = "cargo bench --bench contention --")]
struct Options {
    /// The scenario to measure.
    #[arg(value_enum, default_value_t = Scenario::Mutex)]
    scenario: Scenario,

    /// The server to use, as `HOST:PORT`, which must allow `mntr`; by default, one is started.
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// The number of sessions, each with its own client.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sessions: u32,

    /// The number of tasks in each session.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,

    /// The number of operations of each task; the total is sessions × tasks × iterations.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// All tasks of all sessions take one lock.
    Mutex,
    /// Each task takes a lock of its own.
    Distinct,
    /// Each task holds a lock of its own, and enters it again.
    Reentrant,
    /// All tasks of all sessions read under one lock, and write every tenth time.
    Rw,
    /// All tasks of all sessions take one of the three permits of one semaphore.
    Semaphore,
    /// All tasks of all sessions take two locks together.
    Multi,
}

fn main() -> ExitCode {
    // `cargo test --benches` runs this program too, without arguments.
    if std::env::args_os().len() == 1 {
        println!("{}", Options::command().render_usage());
        return ExitCode::SUCCESS;
    }
    match measure(&Options::parse()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("contention: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<String, Failure> {
    let own = if options.server.is_none() { Some(ZooKeeper::start()?) } else { None };
    let given = options.server.as_deref();
    let server = own.as_ref().map(ZooKeeper::connect_string).or(given).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(runtime.block_on(contend(options, server))?.line(options))
}

async fn contend(options: &Options, server: &str) -> Result<Figures, Failure> {
    let namespace = format!("/zklock-bench/{:x}", SystemTime::UNIX_EPOCH.elapsed()?.as_nanos());
    let mut clients = Vec::new();
    for _ in 0..options.sessions {
        clients.push(Config::new(server).namespace(&namespace).connect().await?);
    }
    let figures = run(options, server, &clients).await;
    for client in clients {
        client.shutdown(GRACE).await;
    }
    figures
}

async fn run(options: &Options, server: &str, clients: &[Client]) -> Result<Figures, Failure> {
    let entrants = warmed_up(options, clients).await?;
    let before = packets_received(server)?;
    let start = Instant::now();
    let latencies = all(entrants.into_iter().map(|entrant| entrant.run(options.iterations))).await?;
    let elapsed = start.elapsed();
    // The second `mntr` is itself counted.
    let requests = packets_received(server)?.saturating_sub(before + 1);
    Ok(Figures::new(latencies.concat(), elapsed, requests))
}

async fn warmed_up(options: &Options, clients: &[Client]) -> Result<Vec<Entrant>, Failure> {
    let mut warming = Vec::new();
    for (session, client) in clients.iter().enumerate() {
        for task in 0..options.tasks {
            let lock = Lock::new(client, options.scenario, &format!("/own/{session}-{task}"))?;
            warming.push(Entrant::warmed_up(lock));
        }
    }
    all(warming).await
}

/// Runs the futures in separate tasks until all are done or the first one fails.
async fn all<T: Send + 'static>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<T, LockError>> + Send + 'static>,
) -> Result<Vec<T>, Failure> {
    let mut tasks: JoinSet<_> = futures.into_iter().collect();
    let mut values = Vec::with_capacity(tasks.len());
    while let Some(value) = tasks.join_next().await {
        values.push(value??);
    }
    Ok(values)
}

/// The lock that a task takes.
enum Lock {
    Mutex(Mutex),
    /// Held all the time, so that each operation enters it again.
    Reentrant(Mutex),
    Rw(RwLock),
    Semaphore(Semaphore),
    Multi(MultiLock),
}

impl Lock {
    fn new(client: &Client, scenario: Scenario, own: &str) -> Result<Self, LockError> {
        Ok(match scenario {
            Scenario::Mutex => Self::Mutex(client.mutex("/shared")?),
            Scenario::Distinct => Self::Mutex(client.mutex(own)?),
            Scenario::Reentrant => Self::Reentrant(client.mutex(own)?),
            Scenario::Rw => Self::Rw(client.rwlock("/shared")?),
            Scenario::Semaphore => Self::Semaphore(client.semaphore("/shared", PERMITS)?),
            Scenario::Multi => Self::Multi(client.multi(["/shared/a", "/shared/b"])?),
        })
    }

    /// Performs one operation, which is a read or a write depending on its number if the lock has both.
    async fn operate(&self, number: u32) -> Result<(), LockError> {
        match self {
            Self::Mutex(mutex) | Self::Reentrant(mutex) => {
                mutex.lock_timeout(Duration::MAX).await?.release().await
            }
            Self::Rw(lock) if number.is_multiple_of(READS_AND_A_WRITE) => {
                lock.write_timeout(Duration::MAX).await?.release().await
            }
            Self::Rw(lock) => lock.read_timeout(Duration::MAX).await?.release().await,
            Self::Semaphore(semaphore) => semaphore.acquire_timeout(Duration::MAX).await?.release().await,
            Self::Multi(locks) => locks.lock_timeout(Duration::MAX).await?.release().await,
        }
    }
}

/// One task and its lock.
struct Entrant {
    lock: Lock,
    held: Option<MutexGuard>,
}

impl Entrant {
    async fn warmed_up(lock: Lock) -> Result<Self, LockError> {
        lock.operate(0).await?;
        let held = match &lock {
            Lock::Reentrant(mutex) => Some(mutex.lock().await?),
            _ => None,
        };
        Ok(Self { lock, held })
    }

    async fn run(self, iterations: u32) -> Result<Vec<Duration>, LockError> {
        match &self.held {
            Some(held) => held.scope(latencies(&self.lock, iterations)).await,
            None => latencies(&self.lock, iterations).await,
        }
    }
}

async fn latencies(lock: &Lock, iterations: u32) -> Result<Vec<Duration>, LockError> {
    let mut latencies = Vec::with_capacity(iterations as usize);
    for number in 0..iterations {
        let start = Instant::now();
        lock.operate(number).await?;
        latencies.push(start.elapsed());
    }
    Ok(latencies)
}

/// The result of a measurement.
struct Figures {
    /// In ascending order, and never empty.
    latencies: Vec<Duration>,
    elapsed: Duration,
    requests: u64,
}

impl Figures {
    fn new(mut latencies: Vec<Duration>, elapsed: Duration, requests: u64) -> Self {
        latencies.sort_unstable();
        Self { latencies, elapsed, requests }
    }

    fn line(&self, options: &Options) -> String {
        let Options { sessions, tasks, .. } = options;
        let scenario = options.scenario.to_possible_value();
        let scenario = scenario.as_ref().map_or("", |value| value.get_name());
        let ops = self.latencies.len();
        let secs = self.elapsed.as_secs_f64();
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        format!(
            "zklock {scenario} sessions={sessions} tasks={tasks} ops={ops} secs={secs:.3} \
             ops_per_s={rate:.0} p50_us={p50:.3} p99_us={p99:.3} requests_per_op={requests:.2}",
            rate = ops as f64 / secs,
            requests = self.requests as f64 / ops as f64,
        )
    }

    /// Returns a percentile in microseconds, by nearest rank.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.latencies.len() * percent).div_ceil(100);
        self.latencies[rank - 1].as_secs_f64() * 1e6
    }
}

/// Returns the number of packets that the server has received, including this request.
fn packets_received(server: &str) -> Result<u64, Failure> {
    let answer = mntr(server).map_err(|error| format!("cannot ask {server} for `mntr`: {error}"))?;
    let count = answer.lines().find_map(|line| line.strip_prefix("zk_packets_received")?.trim().parse().ok());
    count.ok_or_else(|| format!("{server} sent no `zk_packets_received` in reply to `mntr`: {answer}").into())
}

fn mntr(server: &str) -> std::io::Result<String> {
    let address = server.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(b"mntr")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The permits of the semaphore.
const PERMITS: u32 = 3;

/// The length of a cycle of one write and nine reads.
const READS_AND_A_WRITE: u32 = 10;

/// The time that a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The time that a client may take to shut down.
const GRACE: Duration = Duration::from_secs(5);
