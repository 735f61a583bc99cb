//! A job of `tokio-cron-scheduler` is due on each of two replicas, every second, and runs on one of them.
//!
//! ```text
//! cargo run --example cron
//! ```
//!
//! The replicas share this process, and have a session and a scheduler each; a service has one of both. After
//! a few reports the leader shuts down, and the other replica writes the next ones. It needs nothing but Rust:
//! a ZooKeeper server runs inside of it, unless `ZKLOCK_CONNECT=host:port` names one.
//!
//! The last line is `one replica at a time wrote reports`, if that is true: their fencing tokens say so.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "../support/setting.rs"]
mod setting;
#[path = "../support/terms.rs"]
mod terms;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_cron_scheduler::{Job, JobScheduler};
use zklock::{Client, FencingToken, leader_only};

use setting::{Failure, config, end, name_of_run, server};
use terms::Terms;

/// The job. On a replica that does not lead it does nothing.
#[leader_only(guard = term)]
async fn report(replica: &'static str, written: UnboundedSender<Report>) {
    let token = term.fencing_token();
    println!("the {replica} replica writes a report with token {token}");
    written.send(Report { replica, token }).ok();
}

struct Report {
    replica: &'static str,
    token: FencingToken,
}

/// One replica: its client, and the scheduler that starts its jobs.
struct Replica {
    client: Client,
    scheduler: JobScheduler,
}

impl Replica {
    async fn start(client: Client, job: Job) -> Result<Self, Failure> {
        let scheduler = JobScheduler::new().await?;
        scheduler.add(job).await?;
        scheduler.start().await?;
        Ok(Self { client, scheduler })
    }

    /// Starts no more jobs, resigns, and closes the session.
    async fn stop(mut self) -> Result<(), Failure> {
        self.scheduler.shutdown().await?;
        self.client.shutdown(Duration::from_secs(5)).await;
        Ok(())
    }
}

/// The job of a replica, every second.
fn job(replica: &'static str, client: &Client, written: &UnboundedSender<Report>) -> Result<Job, Failure> {
    let (client, written) = (client.clone(), written.clone());
    Ok(Job::new_async("* * * * * *", move |_, _| {
        // A service installs its client; here there are two in one process.
        Box::pin(zklock::scope(client.clone(), report(replica, written.clone())))
    })?)
}

/// The reports of all replicas, in their order.
struct Reports {
    written: UnboundedReceiver<Report>,
    terms: Terms<&'static str>,
}

impl Reports {
    /// Waits for the next report, checks that it comes after those before it, and says whose it is.
    async fn next(&mut self) -> Result<&'static str, Failure> {
        let report = timeout(PATIENCE, self.written.recv()).await?.ok_or("the jobs are gone")?;
        self.terms.note(&report.replica, report.token.into())?;
        Ok(report.replica)
    }

    async fn third(&mut self) -> Result<&'static str, Failure> {
        self.next().await?;
        self.next().await?;
        self.next().await
    }
}

/// Lets two replicas write reports, one after the other.
#[tokio::main]
async fn write_reports() -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let namespace = format!("/cron-{}", name_of_run()?);
    let (to_all, written) = unbounded_channel();
    let mut reports = Reports { written, terms: Terms::new() };
    let mut replicas = BTreeMap::new();
    for name in ["first", "second"] {
        let client = config(&server)?.namespace(&namespace).connect().await?;
        let job = job(name, &client, &to_all)?;
        replicas.insert(name, Replica::start(client, job).await?);
    }

    let leader = reports.third().await?;
    println!("the {leader} replica shuts down");
    replicas.remove(leader).expect("it is there").stop().await?;
    // It may have written some more before that.
    while reports.next().await? == leader {}
    reports.third().await?;

    for replica in replicas.into_values() {
        replica.stop().await?;
    }
    println!("one replica at a time wrote reports");
    Ok(())
}

/// How long there may be no report, on a machine that does many other things.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    end(write_reports())
}
