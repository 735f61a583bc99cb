//! A job of `tokio-cron-scheduler` is due every second on each of two replicas, and runs on one of them.
//!
//! ```text
//! cargo run -p zklock-example-services --example cron
//! ```
//!
//! Both replicas share this process, and each has its own session and scheduler; a real service has one of
//! each. After a few reports the leader shuts down, and the other replica writes the next ones. It needs
//! nothing but Rust: it runs an embedded ZooKeeper server, unless `ZKLOCK_CONNECT=host:port` names one.
//!
//! The last line is `one replica at a time wrote reports`. It is printed only if the fencing tokens of the
//! reports prove it.

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

/// The job, which does nothing on a replica that does not lead.
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

    /// Stops the scheduler, resigns, and closes the session.
    async fn stop(mut self) -> Result<(), Failure> {
        self.scheduler.shutdown().await?;
        self.client.shutdown(Duration::from_secs(5)).await;
        Ok(())
    }
}

/// Returns the job of a replica, which is due every second.
fn job(replica: &'static str, client: &Client, written: &UnboundedSender<Report>) -> Result<Job, Failure> {
    let (client, written) = (client.clone(), written.clone());
    Ok(Job::new_async("* * * * * *", move |_, _| {
        // A service installs its client, but this process has two clients.
        Box::pin(zklock::scope(client.clone(), report(replica, written.clone())))
    })?)
}

/// The reports of all replicas, in order.
struct Reports {
    written: UnboundedReceiver<Report>,
    terms: Terms<&'static str>,
}

impl Reports {
    /// Waits for the next report, checks that it follows the earlier ones, and returns its replica.
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
    replicas.remove(leader).expect("the leader is one of the replicas").stop().await?;
    // The leader may have written more reports before it shut down.
    while reports.next().await? == leader {}
    reports.third().await?;

    for replica in replicas.into_values() {
        replica.stop().await?;
    }
    println!("one replica at a time wrote reports");
    Ok(())
}

/// The longest time without a report, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    end(write_reports())
}
