//! The result of a measurement.

use std::fmt::Write;
use std::time::Duration;

use clap::ValueEnum;

use crate::counters::Counted;
use crate::percentile::percentile;
use crate::scheme::Measurement;

pub(crate) struct Figures {
    operations: f64,
    elapsed: Duration,
    counted: Counted,
    p50_ms: f64,
    p99_ms: f64,
    longest_wait_ms: f64,
}

impl Figures {
    pub(crate) fn new(
        mut waits: Vec<Duration>,
        operations: usize,
        elapsed: Duration,
        counted: Counted,
    ) -> Self {
        waits.sort_unstable();
        let ms = |per_mille| percentile(&waits, per_mille) / 1e3;
        let (p50_ms, p99_ms, longest_wait_ms) = (ms(500), ms(990), ms(1000));
        Self { operations: operations as f64, elapsed, counted, p50_ms, p99_ms, longest_wait_ms }
    }

    pub(crate) fn line(&self, measurement: &Measurement) -> String {
        let Measurement { contenders, sessions, .. } = measurement;
        format!(
            "scheme {name} contenders={contenders} sessions={sessions} ops={ops:.0} ops_per_s={rate:.1} \
             requests_per_op={requests:.2} events_per_op={events} p50_ms={p50:.3} p99_ms={p99:.3} \
             longest_wait_ms={longest:.1}",
            name = name(measurement),
            ops = self.operations,
            rate = self.operations / self.elapsed.as_secs_f64(),
            requests = self.requests(),
            events = self.events(),
            p50 = self.p50_ms,
            p99 = self.p99_ms,
            longest = self.longest_wait_ms,
        )
    }

    fn requests(&self) -> f64 {
        self.counted.requests as f64 / self.operations
    }

    fn events(&self) -> String {
        self.counted
            .events
            .map_or_else(|| "-".to_owned(), |events| format!("{:.2}", events as f64 / self.operations))
    }
}

/// Returns all figures as a table in Markdown.
pub(crate) fn table(measured: &[(Measurement, Figures)]) -> String {
    let mut table = String::from(
        "| contenders | scheme | sessions | ops/s | requests/op | events/op | wait p50 ms | wait p99 ms |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (measurement, figures) in measured {
        let Measurement { contenders, sessions, .. } = measurement;
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "| {contenders} | {} | {sessions} | {:.0} | {:.2} | {} | {:.2} | {:.2} |",
            name(measurement),
            figures.operations / figures.elapsed.as_secs_f64(),
            figures.requests(),
            figures.events(),
            figures.p50_ms,
            figures.p99_ms,
        );
    }
    table
}

fn name(measurement: &Measurement) -> String {
    let value = measurement.scheme.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
