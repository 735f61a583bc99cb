//! Many sessions at one lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::JoinSet;
use zklock::Mutex;
use zklock_testkit::ZooKeeper;

use crate::clients::{patient, until};
use crate::counters::Counters;
use crate::program::Failure;

/// Measures sessions that contend for one lock, each with one task and a client of its own, as many processes would.
///
/// A turn ends when the lock goes to another session. The count starts when each session has had a turn.
/// `turns_per_s`, `requests_per_turn` and `events_per_turn` count all sessions together, and the last two are those
/// that the server counted (`zk_packets_received` and the sums of `watch_count`s of its four-letter word `mntr`).
/// `longest_wait_ms`: the longest time from a call to its acquisition.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of sessions.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..))]
    sessions: u32,

    /// The length of the measurement.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    time: Duration,
}

pub(crate) async fn measure(options: Options) -> Result<String, Failure> {
    let server = ZooKeeper::start()?;
    let connect = |_| patient(server.connect_string()).connect();
    let clients: Vec<_> =
        stream::iter(0..options.sessions).map(connect).buffer_unordered(AT_ONCE).try_collect().await?;
    let (turns, mut running) = (Arc::new(Turns::default()), JoinSet::new());
    for (session, client) in clients.iter().enumerate() {
        let (mutex, turns) = (client.mutex("/lock")?, Arc::clone(&turns));
        running.spawn(async move { turns.take(session as u32 + 1, &mutex).await });
    }
    let all_had_one = async || Ok(turns.visited.load(Ordering::SeqCst) >= options.sessions);
    until(all_had_one, "not all sessions had a turn").await?;
    let (before, counted, start) = (turns.count(), Counters::of(server.connect_string())?, Instant::now());
    tokio::time::sleep(options.time).await;
    let (after, elapsed) = (turns.count(), start.elapsed());
    let counted = Counters::of(server.connect_string())?.since(&counted);
    turns.end.store(true, Ordering::SeqCst);
    let mut longest = Duration::ZERO;
    while let Some(wait) = running.join_next().await {
        longest = longest.max(wait??);
    }
    stream::iter(&clients).for_each_concurrent(AT_ONCE, |client| client.shutdown(GRACE)).await;
    let turns = (after - before) as f64;
    Ok(format!(
        "processes sessions={sessions} turns={turns} turns_per_s={rate:.1} requests_per_turn={requests:.2} \
         events_per_turn={events} longest_wait_ms={longest:.0}",
        sessions = options.sessions,
        rate = turns / elapsed.as_secs_f64(),
        requests = counted.requests as f64 / turns,
        events =
            counted.events.map_or_else(|| "-".to_owned(), |events| format!("{:.2}", events as f64 / turns)),
        longest = longest.as_secs_f64() * 1e3,
    ))
}

#[derive(Default)]
struct Turns {
    changes: AtomicU64,
    /// The session that had the lock last, counted from one.
    last: AtomicU32,
    /// The number of sessions that have had a turn.
    visited: AtomicU32,
    end: AtomicBool,
}

impl Turns {
    /// Takes the lock again and again, and returns the longest wait after the first one.
    async fn take(&self, session: u32, mutex: &Mutex) -> Result<Duration, Failure> {
        self.turn(session, mutex).await?;
        self.visited.fetch_add(1, Ordering::SeqCst);
        let mut longest = Duration::ZERO;
        while !self.end.load(Ordering::SeqCst) {
            longest = longest.max(self.turn(session, mutex).await?);
        }
        Ok(longest)
    }

    async fn turn(&self, session: u32, mutex: &Mutex) -> Result<Duration, Failure> {
        let start = Instant::now();
        let guard = mutex.lock().await?;
        let wait = start.elapsed();
        if self.last.swap(session, Ordering::SeqCst) != session {
            self.changes.fetch_add(1, Ordering::SeqCst);
        }
        guard.release().await?;
        Ok(wait)
    }

    fn count(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
}

/// The number of sessions that are opened and closed at the same time.
const AT_ONCE: usize = 32;
const GRACE: Duration = Duration::from_secs(10);
