//! The servers that tests run on: the one inside of this process, and a real one.

use std::io;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use rstest_reuse::template;
use zklock_testkit::{EmbeddedServer, Error, ZooKeeper};

use super::TICK;

// Runs a test on each kind of server.
#[template]
#[rstest::rstest]
#[case::embedded(Kind::Embedded)]
#[case::real(Kind::Real)]
pub(crate) fn on_both_servers(#[case] kind: Kind) {}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Embedded,
    Real,
}

/// The server of this kind that all tests of this binary share; it ends with the process.
pub(crate) fn server(kind: Kind) -> &'static Server {
    static EMBEDDED: OnceLock<Server> = OnceLock::new();
    static REAL: OnceLock<Server> = OnceLock::new();
    let shared = match kind {
        Kind::Embedded => &EMBEDDED,
        Kind::Real => &REAL,
    };
    shared.get_or_init(|| Server::start(kind))
}

/// A server of either kind, with what both can do.
pub(crate) enum Server {
    Embedded(EmbeddedServer),
    Real(ZooKeeper),
}

impl Server {
    /// Starts one of a test's own, which may be stopped and killed. It grants sessions of ten seconds at most.
    pub(crate) fn start(kind: Kind) -> Self {
        Self::start_granting(kind, 20 * TICK)
    }

    /// Starts one that grants sessions of this length at most.
    pub(crate) fn start_granting(kind: Kind, session: Duration) -> Self {
        match kind {
            Kind::Embedded => {
                let server = EmbeddedServer::builder().tick_time(TICK).max_session_timeout(session);
                server.start().map(Self::Embedded)
            }
            Kind::Real => {
                let server = ZooKeeper::builder().tick_time(TICK).max_session_timeout(session);
                server.start().map(Self::Real)
            }
        }
        .expect("a server starts")
    }

    /// Starts one that removes containers as soon as they are not used any more.
    pub(crate) fn start_reaping(kind: Kind) -> Self {
        let interval = Duration::from_millis(10);
        match kind {
            Kind::Embedded => {
                let server = EmbeddedServer::builder().tick_time(TICK).container_check_interval(interval);
                server.start().map(Self::Embedded)
            }
            Kind::Real => {
                let millis = interval.as_millis().to_string();
                let server = ZooKeeper::builder().tick_time(TICK);
                let server = server.system_property("znode.container.checkIntervalMs", &millis);
                server.start().map(Self::Real)
            }
        }
        .expect("a server starts")
    }

    pub(crate) fn connect_string(&self) -> &str {
        match self {
            Self::Embedded(server) => server.connect_string(),
            Self::Real(server) => server.connect_string(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Embedded(server) => server.address(),
            Self::Real(server) => server.address(),
        }
    }

    pub(crate) fn four_letter(&self, word: &str) -> io::Result<String> {
        match self {
            Self::Embedded(server) => server.four_letter(word),
            Self::Real(server) => server.four_letter(word),
        }
    }

    pub(crate) fn packets_received(&self) -> u64 {
        match self {
            Self::Embedded(server) => server.packets_received(),
            Self::Real(server) => server.packets_received(),
        }
    }

    pub(crate) fn pause(&self) -> Result<(), Error> {
        match self {
            Self::Embedded(server) => server.pause(),
            Self::Real(server) => server.pause(),
        }
    }

    pub(crate) fn resume(&self) -> Result<(), Error> {
        match self {
            Self::Embedded(server) => server.resume(),
            Self::Real(server) => server.resume(),
        }
    }

    pub(crate) fn kill(&self) -> Result<(), Error> {
        match self {
            Self::Embedded(server) => server.kill(),
            Self::Real(server) => server.kill(),
        }
    }

    pub(crate) fn restart(&self) -> Result<(), Error> {
        match self {
            Self::Embedded(server) => server.restart(),
            Self::Real(server) => server.restart(),
        }
    }
}
