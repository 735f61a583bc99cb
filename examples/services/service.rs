//! One whole service: endpoints under a lock and of the leader, a job of the leader, readiness, metrics, a log, and a clean
//! end.
//!
//! ```text
//! zklock serve                                                     # or a ZooKeeper at 127.0.0.1:2181
//! ZKLOCK_CONNECT=127.0.0.1:2181 RUST_LOG=zklock=info cargo run -p zklock-example-services --example service
//! cargo run -p zklock-example-services --example service -- --demo                            # starts a server and two replicas, and kills the leader
//! ```
//!
//! * `POST /orders/7/settle`: 200, or the status of the lock's error.
//! * `POST /reindex`: on the leader 200 with its fencing token, on the others 421.
//! * `GET /leader`: the leader, and whether it is this replica.
//! * `GET /readyz`: 200 while the session is open and connected, and otherwise 503 with the reason.
//! * `GET /metrics`: for Prometheus.
//!
//! SIGTERM and Ctrl-C end it: it answers the requests under way, then resigns and closes its session, so that another replica
//! leads at once. The last line of the demo is `the leader was killed, and the other replica serves`, printed only if that is
//! true.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "service/visitor.rs"]
mod visitor;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{Router, get, post};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval, sleep};
use zklock::{Config, LockError, distributed_lock, leader_only};

/// Settles an order, in one replica at a time.
#[distributed_lock(path = "/orders/{id}", wait = "2s")]
async fn settle(Path(id): Path<u64>) -> Result<String, Refused> {
    sleep(Duration::from_millis(10)).await;
    Ok(format!("order {id} is settled\n"))
}

const ELECTION: &str = "/leader";

/// The work that only the leader may do. If leadership is lost, the body ends at its next await.
#[leader_only(path = ELECTION, otherwise = error, guard = term)]
async fn reindex() -> Result<String, Refused> {
    Ok(u128::from(term.fencing_token()).to_string())
}

/// Returns the leader, as known to the servers.
async fn leader() -> Result<String, Refused> {
    let participants = zklock::leader(ELECTION)?.participants().await?;
    let leader = participants.first().map_or("nobody", |first| &first.identity);
    Ok(format!("{leader} leads: {}", zklock::is_leader(ELECTION)))
}

/// Runs on the leader, at most once a minute in the whole fleet.
#[leader_only(path = ELECTION, once_per = "1m")]
async fn sweep() -> Result<(), LockError> {
    println!("sweeps");
    Ok(())
}

/// Calls `sweep` on each replica. Those that do not lead skip it.
async fn sweep_in_time() {
    let mut timer = interval(Duration::from_secs(5));
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        timer.tick().await;
        if let Err(error) = sweep().await {
            eprintln!("not swept: {error}");
        }
    }
}

/// The answer to a request whose lock was not acquired, or was lost.
struct Refused(LockError);

impl From<LockError> for Refused {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        let text = format!("{}\n", self.0);
        match status {
            StatusCode::SERVICE_UNAVAILABLE => (status, [(header::RETRY_AFTER, "5")], text).into_response(),
            _ => (status, text).into_response(),
        }
    }
}

/// Returns the HTTP status of each error.
fn status(error: &LockError) -> StatusCode {
    match error {
        // Another call works on the same thing.
        LockError::Timeout { .. } if error.is_contended() => StatusCode::CONFLICT,
        // No server answers, or this replica has lost its session or ends. Another attempt may succeed.
        LockError::Timeout { .. }
        | LockError::Connect { .. }
        | LockError::Lost { .. }
        | LockError::Closed { .. } => StatusCode::SERVICE_UNAVAILABLE,
        // Another replica leads.
        LockError::NotLeader { .. } => StatusCode::MISDIRECTED_REQUEST,
        // The request has named the locks.
        LockError::InvalidPath { .. } | LockError::InvalidGroup { .. } => StatusCode::BAD_REQUEST,
        // A mistake in the code.
        LockError::AlreadyInstalled { .. }
        | LockError::Forked { .. }
        | LockError::InvalidPermits { .. }
        | LockError::InvalidWait { .. }
        | LockError::MixedRecipes { .. }
        | LockError::NotInstalled { .. }
        | LockError::PermitsDiffer { .. }
        | LockError::Reentrant { .. }
        | LockError::Upgrade { .. }
        | LockError::WouldBlockRuntime { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        // A mistake in the settings of this service or of the servers.
        LockError::AuthFailed { .. }
        | LockError::Denied { .. }
        | LockError::InvalidConfig { .. }
        | LockError::Tls { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        // A guarded write was not applied, or may have been applied.
        LockError::Refused { .. } | LockError::OutcomeUnknown { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        // Later versions may have more.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Reports whether this replica can take locks now. No request is sent.
async fn readyz() -> (StatusCode, String) {
    let readiness = zklock::readiness();
    let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, format!("{readiness}\n"))
}

/// Returns a future that ends when the process is told to end: by SIGTERM, or by Ctrl-C at a terminal.
fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The bounds of the histograms in seconds. Without bounds, the exporter makes summaries.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

#[tokio::main]
async fn serve(listen: SocketAddr) -> Result<(), Box<dyn Error + Send + Sync>> {
    tracing_subscriber::fmt::init();
    let told_to_end = told_to_end()?;
    // The recorder comes first, so that it gets the counts of the client.
    let metrics = PrometheusBuilder::new().set_buckets(&BUCKETS)?.install_recorder()?;
    // `start` connects in the background. Until the session is open, `/readyz` says 503, and calls wait for it.
    zklock::install(Config::from_env()?.start()?)?;
    let job = tokio::spawn(sweep_in_time());

    let endpoints = Router::new()
        .route("/orders/{id}/settle", post(settle))
        .route("/reindex", post(reindex))
        .route("/leader", get(leader))
        .route("/readyz", get(readyz))
        .route("/metrics", get(move || async move { metrics.render() }));
    let listener = TcpListener::bind(listen).await?;
    println!("listens at http://{}", listener.local_addr()?);
    axum::serve(listener, endpoints).with_graceful_shutdown(told_to_end).await?;

    // Bodies have this time to end. Then their locks are given back, and another replica leads at once.
    zklock::shutdown(Duration::from_secs(10)).await;
    job.abort();
    println!("ends");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    match std::env::args().nth(1).as_deref() {
        Some("--demo") => visitor::visit(),
        Some(address) => serve(address.parse()?),
        None => serve(([127, 0, 0, 1], 3000).into()),
    }
}
