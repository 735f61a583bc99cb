//! The command line.

use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::Failure;

/// Measures how fast locks are taken and released, and how many requests that costs.
///
/// One operation takes a lock, holds it for `--hold`, and then releases it; its latency covers all three,
/// including the wait. Before the clock starts, all sessions are open, and every task has repeated operations
/// for a moment. The requests and events are those that the server counted meanwhile (`zk_packets_received`
/// and the sums of `watch_count`s of its four-letter word `mntr`), so no other client may use the server.
/// `longest_run` is the largest number of consecutive acquisitions by one session while no task has ended;
/// it is `-` where sessions do not share a lock. `longest_wait_ms` is the longest time from a call to its
/// acquisition.
#[derive(Parser)]
#[command(name = "contention", bin_name = "cargo bench -p zklock-bench --bench contention --")]
pub(crate) struct Options {
    /// The scenario to measure.
    #[arg(value_enum, default_value_t = Scenario::Mutex)]
    pub(crate) scenario: Scenario,

    /// The library to measure. Curator is searched for, and installed if it is missing, as the tests do. kazoo is
    /// installed from PyPI into a virtual environment in the target directory.
    #[arg(long, value_enum, default_value_t = Contender::Zklock)]
    pub(crate) client: Contender,

    /// The instances of Curator's lock that several threads take.
    #[arg(long, value_enum, default_value_t = Instances::Task)]
    pub(crate) instances: Instances,

    /// The server to use, as `HOST:PORT`, which must allow `mntr`; by default, one is started.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: Option<String>,

    /// The number of sessions, each with its own client.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sessions: u32,

    /// The number of tasks in each session.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tasks: u32,

    /// The time for which the tasks repeat operations.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Whether an operation waits until its lock is released.
    #[arg(long, value_enum, default_value_t = Release::Awaited)]
    pub(crate) release: Release,

    /// The way in which a mutex is taken and released.
    #[arg(long, value_enum, default_value_t = Through::Guard)]
    pub(crate) through: Through,

    /// How long a lock is held, such as `1ms`.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) hold: Duration,

    /// How long a task pauses after each operation, such as `1ms`. The pause is no part of the latency.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) pause: Duration,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// All tasks of all sessions take one lock.
    Mutex,
    /// Each task takes a lock of its own.
    Distinct,
    /// Each task holds a lock of its own, and enters it again. Each latency is the mean of 1,000 entries.
    Reentrant,
    /// All tasks of all sessions read under one lock, and write every tenth time.
    Rw,
    /// All tasks of all sessions take one of the three permits of one semaphore.
    Semaphore,
    /// All tasks of all sessions take two locks together.
    Multi,
    /// All tasks of all sessions enter one election, lead once, and leave it.
    Leader,
    /// Each operation takes a mutex at a path of its own, which has no node before.
    Fresh,
    /// Each operation takes two locks together, at paths of their own, which have no nodes before.
    FreshMulti,
    /// Each task creates and deletes an ephemeral sequential node below a node of its own, without zklock.
    Raw,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// This library.
    Zklock,
    /// Apache Curator, with one thread for each task. It always awaits the release.
    Curator,
    /// kazoo for Python, with one process for each session, and one thread for each task. It takes mutexes, and always
    /// awaits the release.
    Kazoo,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Instances {
    /// One for each task, which is faster.
    Task,
    /// One for each session. Each event of it wakes all threads that wait for it, and each lists the queue.
    Session,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Release {
    /// `guard.release().await`.
    Awaited,
    /// The guard is dropped.
    Background,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Through {
    /// `mutex.lock()`, and the release of the guard.
    Guard,
    /// `mutex.run(…)`.
    Run,
    /// A function under `#[distributed_lock]`.
    Attribute,
}

impl Options {
    /// Refuses options that have no effect.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_mutex = matches!(self.scenario, Scenario::Mutex | Scenario::Distinct | Scenario::Fresh);
        let is_raw = self.scenario == Scenario::Raw;
        let (is_guard, is_awaited) = (self.through == Through::Guard, self.release == Release::Awaited);
        let is_other = self.client != Contender::Zklock;
        let is_plain = self.pause.is_zero() && self.hold.is_zero();
        let refusals = [
            (!is_mutex && !is_guard, "only `mutex`, `distinct` and `fresh` take `--through`"),
            (!is_guard && !is_awaited, "`--release` needs `--through guard`"),
            (
                (is_raw || is_other) && !(is_guard && is_awaited),
                "only zklock takes `--through` and `--release`",
            ),
            (
                self.client != Contender::Curator && self.instances != Instances::Task,
                "only Curator takes `--instances`",
            ),
            (is_raw && is_other, "`raw` is neither Curator nor kazoo"),
            (
                self.client == Contender::Kazoo && !(is_mutex && is_plain),
                "kazoo takes only mutexes, without `--hold` and `--pause`",
            ),
        ];
        match refusals.into_iter().find(|(is_refused, _)| *is_refused) {
            Some((_, why)) => Err(why.into()),
            None => Ok(()),
        }
    }

    /// Returns whether each operation has a path of its own.
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self.scenario, Scenario::Fresh | Scenario::FreshMulti)
    }

    pub(crate) fn operations_per_sample(&self) -> u32 {
        match self.scenario {
            Scenario::Reentrant => ENTRIES_PER_SAMPLE,
            _ => 1,
        }
    }

    /// Returns whether several sessions contend for one lock.
    pub(crate) fn is_shared(&self) -> bool {
        let is_own = matches!(self.scenario, Scenario::Distinct | Scenario::Reentrant | Scenario::Raw);
        self.sessions > 1 && !is_own && !self.is_fresh()
    }
}

/// Returns the name of a value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// As many entries that a clock read before and after them does not count.
pub(crate) const ENTRIES_PER_SAMPLE: u32 = 1000;
