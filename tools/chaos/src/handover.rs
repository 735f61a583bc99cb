//! Runs in which a holder is cut off while another process waits for its lock.
//!
//! Each run measures the margin: the time from the moment at which the holder is told of its loss to the grant of the
//! waiter. It is negative if the waiter has the lock first. Uses only `settings` and `clock`.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zklock::{Client, Config, Mutex};
use zklock_testkit::{Direction, Ensemble, Proxy, ZooKeeper};

use crate::clock;
use crate::settings::{SESSION, TICK};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The link that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cut {
    /// Between the holder and its server: nothing passes any more.
    Client,
    /// Between the holder's server, a follower, and the leader. The holder still reaches the follower, which answers
    /// reads for twice the session timeout.
    Follower,
}

/// Runs in which a holder is cut off while another process waits for its lock.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// The link that is cut.
    #[arg(long, value_enum)]
    cut: Cut,
    /// The number of runs.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The number of runs at the same time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    beside: u32,
}

/// Makes all runs and prints the smallest margin. Fails if a holder was told too late.
pub(crate) fn run(options: &Options) -> ExitCode {
    match measured(options) {
        Ok(margins) if margins.iter().all(|margin| *margin > 0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("handover: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns the margins of all runs, in nanoseconds.
fn measured(options: &Options) -> Outcome<Vec<i64>> {
    let sync_limit = match options.cut {
        Cut::Client => 2,
        Cut::Follower => 2 * u32::try_from(SESSION.as_millis() / TICK.as_millis())?,
    };
    let ensemble = Ensemble::builder().tick_time(TICK).sync_limit(sync_limit).separable().start()?;
    let mut margins = Vec::new();
    while margins.len() < options.runs as usize {
        let runs = options.beside.min(options.runs - u32::try_from(margins.len())?);
        let round = Round { ensemble: &ensemble, first: margins.len(), runs, sync_limit };
        margins.extend(Runtime::new()?.block_on(round.play(options.cut))?);
    }
    margins.sort_unstable();
    let early = margins.iter().filter(|margin| **margin > 0).count();
    let millis = |margin: i64| margin as f64 / 1e6;
    println!(
        "cut={:?} runs={} told_first={early} smallest_margin_ms={:.3} median_margin_ms={:.3}",
        options.cut,
        margins.len(),
        millis(margins[0]),
        millis(margins[margins.len() / 2])
    );
    Ok(margins)
}

/// Runs that begin together. Their holders are cut off at the same moment.
struct Round<'a> {
    ensemble: &'a Ensemble,
    /// The number of earlier runs.
    first: usize,
    runs: u32,
    sync_limit: u32,
}

/// A holder, and the waiter behind it.
struct Pair {
    holder: Mutex,
    waiter: Mutex,
}

impl Round<'_> {
    async fn play(&self, cut: Cut) -> Outcome<Vec<i64>> {
        let (leader, follower) = self.servers()?;
        let proxy = Proxy::start(follower.address())?;
        let mut pairs = JoinSet::new();
        let (ready, mut waiting) = tokio::sync::mpsc::channel(self.runs as usize);
        for nth in 0..self.runs as usize {
            let path = format!("/handover-{}", self.first + nth);
            let holder = self.client(proxy.connect_string()).await?.mutex(&path)?;
            let waiter = self.client(leader.connect_string()).await?.mutex(&path)?;
            pairs.spawn(Pair { holder, waiter }.margin(ready.clone()));
        }
        // Only pairs that are not ready keep the channel open.
        drop(ready);
        for _ in 0..self.runs {
            waiting.recv().await.ok_or("a pair has failed")?;
        }
        match cut {
            Cut::Client => proxy.blackhole(Direction::Both),
            Cut::Follower => self.ensemble.separate(follower),
        }
        let margins = pairs.join_all().await.into_iter().collect();
        if cut == Cut::Follower {
            self.ensemble.join(follower);
        }
        margins
    }

    /// Returns the leader and a follower. Waits until all servers serve.
    fn servers(&self) -> Outcome<(&ZooKeeper, &ZooKeeper)> {
        let leader = self.ensemble.leader()?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let followers = self.ensemble.followers()?;
            if followers.len() + 1 == self.ensemble.servers().len() {
                return Ok((leader, followers[0]));
            }
            std::thread::sleep(TICK);
        }
        Err("a server does not follow the leader".into())
    }

    async fn client(&self, servers: &str) -> Outcome<Client> {
        let config = Config::new(servers).session_timeout(SESSION).tick_time(TICK);
        Ok(config.sync_limit(TICK * self.sync_limit).connect().await?)
    }
}

impl Pair {
    /// Returns the margin. Tells `ready` when the waiter is in the queue.
    async fn margin(self, ready: tokio::sync::mpsc::Sender<()>) -> Outcome<i64> {
        let guard = self.holder.lock().await?;
        let granted = tokio::spawn(async move {
            let guard = self.waiter.lock_timeout(PATIENCE).await;
            (clock::now(), guard)
        });
        let queued = async {
            while self.holder.participants().await?.len() < 2 {
                sleep(TICK / 10).await;
            }
            Outcome::Ok(())
        };
        timeout(PATIENCE, queued).await??;
        ready.send(()).await?;
        drop(ready);
        let told = timeout(PATIENCE, async {
            guard.lost().await;
            clock::now()
        });
        let (told, (granted, waiter)) = (told.await?, granted.await?);
        drop(waiter?);
        Ok(granted.cast_signed() - told.cast_signed())
    }
}

/// The time within which a lock is handed over for sure.
const PATIENCE: Duration = Duration::from_secs(40);
