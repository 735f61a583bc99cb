//! The result of a measurement.

use std::time::Duration;

use crate::counters::Counters;
use crate::entrant::Record;
use crate::options::{Options, Scenario, name};

pub(crate) struct Figures {
    /// In ascending order.
    latencies: Vec<Duration>,
    /// The session of each acquisition, in the order of acquisition, until the first task ended.
    sessions: Vec<u32>,
    longest_wait: Duration,
    elapsed: Duration,
    counted: Counters,
}

impl Figures {
    /// Takes the acquisitions with an order below `contended` for those of the time when all tasks contended.
    pub(crate) fn new(record: Record, contended: u64, elapsed: Duration, counted: Counters) -> Self {
        let Record { mut latencies, mut acquisitions, longest_wait } = record;
        latencies.sort_unstable();
        acquisitions.retain(|(order, _)| *order < contended);
        acquisitions.sort_unstable();
        let sessions = acquisitions.into_iter().map(|(_, session)| session).collect();
        Self { latencies, sessions, longest_wait, elapsed, counted }
    }

    pub(crate) fn line(&self, options: &Options) -> String {
        let Options { sessions, tasks, .. } = options;
        let batch = f64::from(options.operations_per_sample());
        let ops = self.latencies.len() as f64 * batch;
        let secs = self.elapsed.as_secs_f64();
        let [p50, p90, p99, p999] =
            [500, 900, 990, 999].map(|per_mille| percentile(&self.latencies, per_mille) / batch);
        let client = if options.scenario == Scenario::Raw { "zookeeper-client" } else { "zklock" };
        let events = self.counted.events.map(|events| format!("{:.2}", events as f64 / ops));
        let run = if options.is_shared() { self.longest_run().to_string() } else { "-".to_owned() };
        format!(
            "{client} {what} sessions={sessions} tasks={tasks} ops={ops:.0} secs={secs:.3} \
             ops_per_s={rate:.0} p50_us={p50:.3} p90_us={p90:.3} p99_us={p99:.3} p999_us={p999:.3} \
             requests_per_op={requests:.2} events_per_op={events} longest_run={run} longest_wait_ms={wait:.1}",
            what = name(&options.scenario),
            rate = ops / secs,
            requests = self.counted.requests as f64 / ops,
            events = events.as_deref().unwrap_or("-"),
            wait = self.longest_wait.as_secs_f64() * 1e3,
        )
    }

    fn longest_run(&self) -> usize {
        self.sessions.chunk_by(|one, next| one == next).map(<[_]>::len).max().unwrap_or_default()
    }
}

/// Returns a percentile of durations in ascending order, by nearest rank, in microseconds.
fn percentile(sorted: &[Duration], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    let duration = rank.checked_sub(1).and_then(|index| sorted.get(index));
    duration.map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e6)
}
