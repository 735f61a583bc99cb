//! The command line.

use std::time::Duration;

use clap::Parser;

use crate::scheme::{Measurement, Scheme};

/// Measures the ways in which contenders can wait for a lock on ZooKeeper.
///
/// `one-node`: all create the same ephemeral node; the others watch it, and try again when it goes.
/// `all-watch-parent`: each creates a sequential node, watches the children of the lock, and lists them at each change.
/// `predecessor`: each creates a sequential node, and watches the one in front of it (zklock with a client for each).
/// `local-queue`: the calls of one session wait in memory, and share one node (zklock's default).
///
/// A contender takes the lock, enters the critical section, and awaits the release, again and again. The first three
/// schemes are measured with a session for each contender, as if each were a process: none of them gains from sharing a
/// session. The local queue is for processes in which several tasks contend, so it is measured with `--sessions`
/// sessions, among which the contenders are divided. With as many sessions as contenders, it has nothing to queue, and
/// repeats `predecessor`.
///
/// The figures are those of the time in which all contend. The wait is the time from a call to its acquisition. The
/// requests and events are those that the server counted meanwhile (`zk_packets_received` and the sums of
/// `watch_count`s of its four-letter word `mntr`), so no other client may use the server. A counter that is read and
/// written in the critical section shows that one contender at a time was inside; otherwise the measurement fails.
#[derive(Parser)]
#[command(name = "schemes", bin_name = "cargo bench -p zklock-bench --bench schemes --")]
pub(crate) struct Options {
    /// The numbers of contenders.
    #[arg(long, value_delimiter = ',', default_value = "2,8,32,128", value_parser = clap::value_parser!(u32).range(1..))]
    contenders: Vec<u32>,

    /// The largest number of sessions among which contenders are divided.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    sessions: u32,

    /// The schemes to measure; by default all.
    #[arg(long, value_enum, value_delimiter = ',')]
    schemes: Vec<Scheme>,

    /// The length of a measurement, in seconds.
    #[arg(long, default_value = "3", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// The server to use, as `HOST:PORT`, which must allow `mntr`; by default, one is started.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: Option<String>,

    /// Accepted because cargo passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    pub(crate) fn measurements(&self) -> impl Iterator<Item = Measurement> {
        let of = |contenders| Measurement::all(contenders, self.sessions.min(contenders));
        let is_chosen = |scheme| self.schemes.is_empty() || self.schemes.contains(&scheme);
        self.contenders.iter().copied().flat_map(of).filter(move |measurement| is_chosen(measurement.scheme))
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
