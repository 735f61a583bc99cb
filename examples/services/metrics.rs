//! A service whose locks, leaders and sessions Prometheus can watch.
//!
//! ```text
//! cargo run -p zklock-example-services --example metrics                  # serves http://127.0.0.1:9000/metrics
//! cargo run -p zklock-example-services --example metrics -- --demo        # prints them after two seconds of work
//! ```
//!
//! It needs nothing but Rust: it runs an embedded ZooKeeper server, unless `ZKLOCK_CONNECT=host:port` names
//! one. `docs/operations/` has a dashboard and alert rules for these metrics.
//!
//! The last line of the demo is `every metric was recorded`, printed only if that is true.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "../support/setting.rs"]
mod setting;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use axum::routing::{Router, get};
use clap::Parser;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, sleep};
use zklock::{LockError, distributed_lock, leader_only};

use setting::{Failure, config, end, name_of_run, server};

/// The label of this lock is `/orders/{id}`, for all orders.
#[distributed_lock(path = "/orders/{id}", wait = "2s")]
async fn settle(id: u64) -> Result<(), LockError> {
    sleep(Duration::from_millis(20)).await;
    Ok(())
}

/// The label of this lock is `reports`.
#[distributed_lock(path = "/reports/{day}", once_per = "1h", skip, name = "reports")]
async fn report(day: u64) -> Option<()> {
    Some(())
}

#[leader_only]
async fn sweep() {}

/// Works without an end. The calls meet at few locks, so that some of them wait.
async fn work() {
    let mut timer = interval(Duration::from_millis(50));
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for round in 0.. {
        timer.tick().await;
        for id in 0..4 {
            zklock::spawn(async move { settle(id % 2).await });
        }
        report(round % 3).await;
        sweep().await;
    }
}

/// Installs the recorder and then the client, whose counts the recorder gets.
async fn start(server: &str) -> Result<PrometheusHandle, Failure> {
    let buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];
    let metrics = PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?;
    let client = config(server)?.namespace(format!("/metrics-{}", name_of_run()?)).connect().await?;
    zklock::install(client)?;
    Ok(metrics)
}

#[tokio::main]
async fn serve(listen: SocketAddr) -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let metrics = start(&server).await?;
    let listener = TcpListener::bind(listen).await?;
    println!("serves http://{}/metrics", listener.local_addr()?);
    let endpoints = Router::new().route("/metrics", get(move || async move { metrics.render() }));
    tokio::select! {
        () = work() => {}
        served = axum::serve(listener, endpoints) => served?,
        _ = tokio::signal::ctrl_c() => {}
    }
    zklock::shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Works for a moment, and prints the metrics.
#[tokio::main]
async fn demo() -> Result<(), Failure> {
    let (server, _ours) = server()?;
    let metrics = start(&server).await?;
    tokio::time::timeout(Duration::from_secs(2), work()).await.ok();
    zklock::shutdown(Duration::from_secs(5)).await;
    let text = metrics.render();
    println!("{text}");
    let recorded = text.matches("# TYPE zklock_").count();
    if recorded != METRICS {
        return Err(format!("{recorded} of {METRICS} metrics were recorded").into());
    }
    println!("every metric was recorded");
    Ok(())
}

/// The number of metrics in `docs/guide/metrics.md`.
const METRICS: usize = 22;

#[derive(Parser)]
struct Options {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// Works for a moment, prints the metrics, and ends.
    #[arg(long)]
    demo: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    end(if options.demo { demo() } else { serve(options.listen) })
}
