//! An HTTP service with an endpoint that only its leader serves.
//!
//! ```text
//! cargo run -p zklock-example-services --example axum_leader                  # one replica, at http://127.0.0.1:3000
//! cargo run -p zklock-example-services --example axum_leader -- --demo        # two, one of which is killed
//! ```
//!
//! * `GET /healthz`: 200 while the session is open and connected, and otherwise 503 with the reason.
//! * `GET /leader`: the leader, and whether it is this replica.
//! * `POST /reindex`: on the leader 200 with its fencing token, on the others 421.
//!
//! SIGTERM and Ctrl-C end it: it answers the requests under way and then resigns, so that another replica
//! leads at once. It needs nothing but Rust: it runs an embedded ZooKeeper server, unless
//! `ZKLOCK_CONNECT=host:port` names one.
//!
//! The last line of the demo is `the leader was killed, and the other replica serves`, printed only if that
//! is true.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "../support/fleet.rs"]
mod fleet;
#[path = "../support/setting.rs"]
mod setting;
#[path = "../support/terms.rs"]
mod terms;
#[path = "axum_leader/visitor.rs"]
mod visitor;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{Router, get, post};
use clap::Parser;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use zklock::{Config, LockError, leader_only};

use fleet::{Replica, Role, end_with_parent, told_to_end};
use setting::{Failure, config, end, server};

const ELECTION: &str = "/leader";

/// Reports whether this replica can do its work now. No request is sent.
async fn healthz() -> (StatusCode, String) {
    let readiness = zklock::readiness();
    let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, readiness.to_string())
}

/// Returns the leader, as known to the servers.
async fn leader() -> Result<Json<Leader>, Refused> {
    let participants = zklock::leader(ELECTION)?.participants().await?;
    let leader = participants.into_iter().next().map(|participant| participant.identity);
    Ok(Json(Leader { leader, is_this_replica: zklock::is_leader(ELECTION) }))
}

#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Leader {
    /// The identity of the leader's client.
    leader: Option<String>,
    is_this_replica: bool,
}

/// The work that only the leader may do. If leadership is lost, the body ends at its next await.
#[leader_only(path = ELECTION, otherwise = error, guard = term)]
async fn reindex() -> Result<String, Refused> {
    Ok(u128::from(term.fencing_token()).to_string())
}

/// The error for a request that this replica cannot serve now.
struct Refused(LockError);

impl From<LockError> for Refused {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let is_elsewhere = self.0.is_not_leader();
        let status =
            if is_elsewhere { StatusCode::MISDIRECTED_REQUEST } else { StatusCode::SERVICE_UNAVAILABLE };
        (status, self.0.to_string()).into_response()
    }
}

/// Runs one replica of the service until it is told to end.
#[tokio::main]
async fn serve(config: Config, listen: SocketAddr) -> Result<(), Failure> {
    let told_to_end = told_to_end()?;
    zklock::install(config.connect().await?)?;
    zklock::leader(ELECTION)?.join().await?;

    let endpoints = Router::new()
        .route("/healthz", get(healthz))
        .route("/leader", get(leader))
        .route("/reindex", post(reindex));
    let listener = TcpListener::bind(listen).await?;
    let client = zklock::client()?;
    println!("{}: listens at http://{}", client.identity(), listener.local_addr()?);
    axum::serve(listener, endpoints).with_graceful_shutdown(told_to_end).await?;

    zklock::shutdown(Duration::from_secs(10)).await;
    println!("{}: ends", client.identity());
    Ok(())
}

fn serve_alone(listen: SocketAddr) -> Result<(), Failure> {
    let (server, _ours) = server()?;
    serve(config(&server)?, listen)
}

fn serve_in_fleet(replica: &Replica) -> Result<(), Failure> {
    end_with_parent();
    serve(replica.config()?, (Ipv4Addr::LOCALHOST, 0).into())
}

#[derive(Parser)]
struct Options {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// Starts two replicas, visits them and kills their leader.
    #[arg(long)]
    demo: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    end(match options.role {
        Some(Role::Replica(replica)) => serve_in_fleet(&replica),
        None if options.demo => visitor::visit(),
        None => serve_alone(options.listen),
    })
}
