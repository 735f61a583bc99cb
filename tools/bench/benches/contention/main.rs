//! Measures how fast locks are taken and released, and how many requests that costs.
//!
//! ```text
//! cargo bench -p zklock-bench --bench contention -- mutex --sessions 8 --tasks 1 --seconds 3
//! ```
//!
//! prints one line; `--help` says what the scenarios are and what the figures mean.
//!
//! * `options`: the command line.
//! * `lock`, `raw`: one operation, and the paths that it uses.
//! * `entrant`: one task, which repeats operations, and the critical section of all.
//! * `other`, `Contention.java`, `contention.py`: the same scenarios with Curator, and mutexes with kazoo.
//! * `figures`, `counters`: the result, and the counters of the server.

#![allow(clippy::print_stdout, reason = "the result goes to standard output")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::task::JoinSet;
use zklock_testkit::ZooKeeper;
use zookeeper_client::Client;

use crate::counters::Counters;
use crate::entrant::{Body, Entrant, Record};
use crate::figures::Figures;
use crate::lock::Session;
use crate::options::{Contender, Options};
use crate::program::Failure;

mod counters;
mod entrant;
mod figures;
mod lock;
mod options;
mod other;
#[path = "../program/mod.rs"]
mod program;
mod raw;

fn main() -> ExitCode {
    program::run(|options: Options| {
        println!("{}", measure(options)?);
        Ok(())
    })
}

fn measure(options: Options) -> Result<String, Failure> {
    options.check()?;
    let own = if options.server.is_none() { Some(ZooKeeper::start()?) } else { None };
    let given = options.server.as_deref();
    let server = own.as_ref().map(ZooKeeper::connect_string).or(given).unwrap_or_default().to_owned();
    let namespace = format!("/zklock-bench/{:x}", SystemTime::UNIX_EPOCH.elapsed()?.as_nanos());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let bench = Bench { options: Arc::new(options), server, namespace };
    let Bench { options, server, namespace } = &bench;
    let line = match options.client {
        Contender::Curator => other::curator(options, server, namespace)?,
        Contender::Kazoo => other::kazoo(options, server, namespace)?,
        Contender::Zklock => runtime.block_on(bench.contend())?.line(options),
    };
    if options.is_fresh() {
        let used = format!("{namespace}/locks");
        runtime.block_on(async { raw::delete_children(&Client::connect(server).await?, &used).await })?;
    }
    Ok(line)
}

struct Bench {
    options: Arc<Options>,
    server: String,
    /// The parent of all nodes of this measurement.
    namespace: String,
}

impl Bench {
    async fn contend(&self) -> Result<Figures, Failure> {
        let sessions = lock::open(&self.options, &self.server, &self.namespace).await?;
        let figures = self.run(&sessions).await;
        lock::close(sessions).await?;
        figures
    }

    async fn run(&self, sessions: &[Session]) -> Result<Figures, Failure> {
        let entrants = self.warmed_up(sessions).await?;
        let body = Arc::new(Body::new(self.options.hold));
        let before = Counters::of(&self.server)?;
        let start = Instant::now();
        let until = start + self.options.seconds;
        let runs = entrants.into_iter().map(|entrant| entrant.run(body.clone(), until));
        let records = all(runs).await?;
        let elapsed = start.elapsed();
        let counted = Counters::of(&self.server)?.since(&before);
        let record = records.into_iter().fold(Record::default(), Record::join);
        Ok(Figures::new(record, body.contended(), elapsed, counted))
    }

    async fn warmed_up(&self, sessions: &[Session]) -> Result<Vec<Entrant>, Failure> {
        let mut warming = Vec::new();
        for (number, session) in (0..).zip(sessions) {
            for task in 0..self.options.tasks {
                let session = (number, session.clone());
                warming.push(Entrant::warmed_up(self.options.clone(), session, format!("{number}-{task}")));
            }
        }
        all(warming).await
    }
}

/// Runs the futures in separate tasks until all are done or the first one fails.
async fn all<T: Send + 'static>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<T, Failure>> + Send + 'static>,
) -> Result<Vec<T>, Failure> {
    let mut tasks: JoinSet<_> = futures.into_iter().collect();
    let mut values = Vec::with_capacity(tasks.len());
    while let Some(value) = tasks.join_next().await {
        values.push(value??);
    }
    Ok(values)
}
