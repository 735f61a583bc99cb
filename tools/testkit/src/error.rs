//! The error type of the crate.

use std::io;
use std::time::Duration;

/// An error while finding, installing, starting or controlling a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program was not found in any of the places searched.
    #[error(
        "no {what} was found; install it (Debian: `apt-get install {packages}`), or set {variables}",
        packages = packages.join(" ")
    )]
    Missing {
        /// The program.
        what: &'static str,
        /// Debian's packages with the program.
        packages: &'static [&'static str],
        /// The environment variables that name its place, and what they have.
        variables: &'static str,
    },

    /// An environment variable points to a place that lacks the expected files.
    #[error("the environment variable {variable} is `{value}`, which contains {missing}")]
    BadLocation {
        /// The name of the variable.
        variable: &'static str,
        /// The value of the variable.
        value: String,
        /// The missing files, as in "no `bin/java`".
        missing: &'static str,
    },

    /// The package manager failed to install the missing packages.
    #[error("`{command}` failed; install the packages by hand. Its output ends with:\n{output}")]
    Install {
        /// The command that failed.
        command: String,
        /// The end of its output.
        output: String,
    },

    /// The server's process ended before it was ready.
    #[error("the server ended before it was ready. Its log ends with:\n{log}")]
    Exited {
        /// The end of the server's log.
        log: String,
    },

    /// The server is running, but was not ready in time.
    #[error("the server was not ready after {waited:?}. Its log ends with:\n{log}")]
    NotReady {
        /// The time limit.
        waited: Duration,
        /// The end of the server's log.
        log: String,
    },

    /// The server was killed and not restarted.
    #[error("the ZooKeeper at {address} is not running")]
    NotRunning {
        /// The address that it listened on.
        address: std::net::SocketAddr,
    },

    /// The address for a server is one that other machines could reach.
    #[error("a test server may listen only on a loopback address, not on {address}")]
    NotLoopback {
        /// The address that it was to listen on.
        address: std::net::SocketAddr,
    },

    /// No majority of an ensemble was serving in time.
    #[error("no quorum of the ensemble was serving after {waited:?}")]
    NoQuorum {
        /// The time limit.
        waited: Duration,
    },

    /// An operation on files, sockets, threads or processes failed.
    #[error("cannot {action}")]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The cause of the failure.
        source: io::Error,
    },
}

impl Error {
    /// Returns a function for `map_err` that creates a [`Self::Io`] for this action.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
