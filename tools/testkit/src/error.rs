//! The error type of the crate.

use std::io;
use std::time::Duration;

/// An error while finding, installing, starting or controlling a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program was not found in any of the places searched. Debian's packages have it, and environment variables name its
    /// place.
    #[error(
        "no {what} was found; install it (Debian: `apt-get install {packages}`), or set {variables}",
        packages = packages.join(" ")
    )]
    Missing { what: &'static str, packages: &'static [&'static str], variables: &'static str },

    /// An environment variable points to a place that lacks the expected files, as in "no `bin/java`".
    #[error("the environment variable {variable} is `{value}`, which contains {missing}")]
    BadLocation { variable: &'static str, value: String, missing: &'static str },

    /// The package manager failed to install the missing packages.
    #[error("`{command}` failed; install the packages by hand. Its output ends with:\n{output}")]
    Install { command: String, output: String },

    /// The server's process ended before it was ready.
    #[error("the server ended before it was ready. Its log ends with:\n{log}")]
    Exited { log: String },

    /// The server is running, but was not ready in time.
    #[error("the server was not ready after {waited:?}. Its log ends with:\n{log}")]
    NotReady { waited: Duration, log: String },

    /// The server was killed and not restarted.
    #[error("the ZooKeeper at {address} is not running")]
    NotRunning { address: std::net::SocketAddr },

    /// The address for a server is one that other machines could reach.
    #[error("a test server may listen only on a loopback address, not on {address}")]
    NotLoopback { address: std::net::SocketAddr },

    /// No majority of an ensemble was serving in time.
    #[error("no quorum of the ensemble was serving after {waited:?}")]
    NoQuorum { waited: Duration },

    /// An operation on files, sockets, threads or processes failed.
    #[error("cannot {action}")]
    Io { action: &'static str, source: io::Error },
}

impl Error {
    /// Returns a function for `map_err` that creates a [`Self::Io`] for this action.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
