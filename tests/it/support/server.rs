//! The servers that tests run on: one in this process, and a real one.

use std::env;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use zklock_testkit::{EmbeddedServer, Error, ZooKeeper};

/// The servers' tick. Sessions end at multiples of it.
pub(crate) const TICK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Embedded,
    Real,
}

impl Kind {
    /// Returns the kind that the environment asks for. Without the variable, tests need no Java.
    pub(crate) fn of_this_run() -> Self {
        match env::var("TEST_SERVER").as_deref() {
            Err(_) | Ok("embedded") => Self::Embedded,
            Ok("zookeeper") => Self::Real,
            Ok(other) => panic!("TEST_SERVER is {other}, and neither embedded nor zookeeper"),
        }
    }
}

/// Returns the server that all tests of this binary share. It ends with the process.
pub(crate) fn server() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(Server::start)
}

/// Returns the server shared by tests whose sessions must end soon. It ends with the process.
pub(crate) fn quick_server() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(Server::start_quick)
}

/// The tick of servers whose sessions must end soon.
pub(crate) const QUICK_TICK: Duration = Duration::from_millis(200);
/// An interval between deletions of used-up containers that no test outlasts: a queue that is empty for a moment stays.
const SELDOM: Duration = Duration::from_secs(3_600);

pub(crate) enum Server {
    Embedded(EmbeddedServer),
    Real(ZooKeeper),
}

macro_rules! on {
    ($of:expr, $server:ident => $result:expr) => {
        match $of {
            Server::Embedded($server) => $result,
            Server::Real($server) => $result,
        }
    };
}

impl Server {
    /// Starts a server for one test, which may stop and kill it. It grants session timeouts of ten seconds at
    /// most.
    pub(crate) fn start() -> Self {
        Self::start_granting(20 * TICK)
    }

    pub(crate) fn start_quick() -> Self {
        Self::start_with(QUICK_TICK, 20 * QUICK_TICK, SELDOM)
    }

    pub(crate) fn start_granting(session: Duration) -> Self {
        Self::start_with(TICK, session, SELDOM)
    }

    /// Starts a server that deletes used-up containers all the time.
    pub(crate) fn start_reaping() -> Self {
        Self::start_with(TICK, 20 * TICK, Duration::from_millis(10))
    }

    fn start_with(tick: Duration, session: Duration, reaping: Duration) -> Self {
        match Kind::of_this_run() {
            Kind::Embedded => {
                let server = EmbeddedServer::builder().tick_time(tick).max_session_timeout(session);
                server.container_check_interval(reaping).start().map(Self::Embedded)
            }
            Kind::Real => {
                let server = ZooKeeper::builder().tick_time(tick).max_session_timeout(session);
                let reaping = reaping.as_millis().to_string();
                let server = server.system_property("znode.container.checkIntervalMs", &reaping);
                server.start().map(Self::Real)
            }
        }
        .expect("a server starts")
    }

    pub(crate) fn connect_string(&self) -> &str {
        on!(self, server => server.connect_string())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        on!(self, server => server.address())
    }

    pub(crate) fn four_letter(&self, word: &str) -> io::Result<String> {
        on!(self, server => server.four_letter(word))
    }

    pub(crate) fn packets_received(&self) -> u64 {
        on!(self, server => server.packets_received())
    }

    pub(crate) fn watch_count(&self) -> u64 {
        on!(self, server => server.watch_count())
    }

    pub(crate) fn pause(&self) -> Result<(), Error> {
        on!(self, server => server.pause())
    }

    pub(crate) fn resume(&self) -> Result<(), Error> {
        on!(self, server => server.resume())
    }

    pub(crate) fn kill(&self) -> Result<(), Error> {
        on!(self, server => server.kill())
    }

    pub(crate) fn restart(&self) -> Result<(), Error> {
        on!(self, server => server.restart())
    }

    pub(crate) fn restart_empty(&self) -> Result<(), Error> {
        match self {
            Self::Embedded(server) => server.restart_empty(),
            Self::Real(server) => {
                server.kill()?;
                fs::remove_dir_all(server.directory().join("data")).expect("the server has data");
                server.restart()
            }
        }
    }
}
