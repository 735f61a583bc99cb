//! The embedded ZooKeeper server as a program, for development without Java.
#![allow(clippy::print_stdout, reason = "its output is for the person who runs it")]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zklock_testkit::{EmbeddedServer, Error};

/// Serves ZooKeeper's client protocol from memory until the process ends.
#[derive(Debug, Parser)]
#[command(name = "zklock-testkit", version)]
struct Arguments {
    /// The loopback address to listen on; port 0 picks a free port.
    #[arg(long, default_value = "127.0.0.1:2181")]
    listen: SocketAddr,

    /// ZooKeeper's `tickTime` in milliseconds; a session timeout is at least two ticks.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    tick_time: u64,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match serve(&Arguments::parse()) {
        Ok(server) => {
            println!("listening on {}", server.address());
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("zklock-testkit: {error}{}", cause_of(&error));
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &Arguments) -> Result<EmbeddedServer, Error> {
    let tick_time = Duration::from_millis(arguments.tick_time);
    EmbeddedServer::builder().listen(arguments.listen).tick_time(tick_time).start()
}

fn cause_of(error: &dyn std::error::Error) -> String {
    error.source().map(|cause| format!(": {cause}")).unwrap_or_default()
}
