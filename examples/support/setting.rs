//! The start and the end of every example: the server, the configuration and the exit code.

use std::error::Error;
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, process};

use zklock::{Config, LockError};
use zklock_testkit::EmbeddedServer;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Returns the server named by `ZKLOCK_CONNECT`, or else one that runs for as long as the second value lives.
pub(crate) fn server() -> Result<(String, Option<EmbeddedServer>), Failure> {
    if let Ok(server) = env::var("ZKLOCK_CONNECT") {
        println!("using the ZooKeeper at {server} from ZKLOCK_CONNECT");
        return Ok((server, None));
    }
    let ours = EmbeddedServer::start()?;
    let server = ours.connect_string().to_owned();
    println!("using an embedded server at {server}; set ZKLOCK_CONNECT=host:port to use a ZooKeeper");
    Ok((server, Some(ours)))
}

/// Returns the configuration from the environment if `ZKLOCK_CONNECT` is set, and otherwise one that names
/// the server.
pub(crate) fn config(server: &str) -> Result<Config, LockError> {
    if env::var_os("ZKLOCK_CONNECT").is_some() { Config::from_env() } else { Ok(Config::new(server)) }
}

/// Returns a name that keeps two runs on one server apart.
pub(crate) fn name_of_run() -> Result<String, Failure> {
    Ok(format!("{}-{:x}", process::id(), SystemTime::UNIX_EPOCH.elapsed()?.as_micros()))
}

/// Prints the error of a failed run, and returns the exit code of the process.
pub(crate) fn end(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", env!("CARGO_CRATE_NAME"));
            ExitCode::FAILURE
        }
    }
}
