use std::ffi::OsStr;
use std::io;
use std::time::Duration;

/// Why a server could not be found, installed, started or steered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ZooKeeper is installed in any of the places looked at.
    #[error(
        "no ZooKeeper server was found; install one (Debian: `apt-get install {server} {java}`), \
         or set ZOOKEEPER_HOME to the directory of an unpacked release, \
         or set ZOOKEEPER_CLASSPATH to the jars of one",
        server = crate::packages::SERVER_PACKAGE,
        java = crate::packages::JAVA_PACKAGE
    )]
    NoZooKeeper,

    /// No Curator is installed in any of the places looked at.
    #[error(
        "no Curator was found; install it (Debian: `apt-get install {curator} {java}`), \
         or set CURATOR_CLASSPATH to its jars and those that they need",
        curator = crate::packages::CURATOR_PACKAGE,
        java = crate::packages::JAVA_PACKAGE
    )]
    NoCurator,

    /// No Java runtime is installed.
    #[error(
        "no `java` was found to run ZooKeeper; install a Java runtime \
         (Debian: `apt-get install {package}`), or set JAVA_HOME",
        package = crate::packages::JAVA_PACKAGE
    )]
    NoJava,

    /// An environment variable points to a place that does not hold what it should.
    #[error("the environment variable {variable} is `{value}`, where there is {missing}")]
    BadLocation {
        /// The name of the variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What the place lacks.
        missing: &'static str,
    },

    /// The package manager failed to install what was missing.
    #[error("`{command}` failed; install this by hand. Its output ends with:\n{output}")]
    Install {
        /// The command that failed.
        command: String,
        /// The end of what it wrote.
        output: String,
    },

    /// The server ended before it served.
    #[error("ZooKeeper ended before it was ready. Its log ends with:\n{log}")]
    Exited {
        /// The end of the server's log.
        log: String,
    },

    /// The server runs, but did not serve in time.
    #[error("ZooKeeper was not ready after {waited:?}. Its log ends with:\n{log}")]
    NotReady {
        /// How long it was given.
        waited: Duration,
        /// The end of the server's log.
        log: String,
    },

    /// The server was killed and not restarted.
    #[error("the ZooKeeper at {address} is not running")]
    NotRunning {
        /// Where it listened.
        address: std::net::SocketAddr,
    },

    /// A server was to listen where others could reach it.
    #[error("{address} is no loopback address, and servers for tests are for nobody else")]
    NotLoopback {
        /// Where it was to listen.
        address: std::net::SocketAddr,
    },

    /// No majority of an ensemble served in time.
    #[error("no quorum of the ensemble was serving after {waited:?}")]
    NoQuorum {
        /// How long it was given.
        waited: Duration,
    },

    /// The operating system refused something.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// Names what was tried, for `map_err`.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// Names a variable whose value points to a place that lacks something.
    pub(crate) fn bad_location(variable: &'static str, value: &OsStr, missing: &'static str) -> Self {
        Self::BadLocation { variable, value: value.to_string_lossy().into_owned(), missing }
    }
}

/// The last lines of a log, short enough to stand in a message.
pub(crate) fn tail(log: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
