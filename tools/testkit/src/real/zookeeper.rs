//! A real ZooKeeper server as a child process.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::real::supervisor::Supervisor;
use crate::{Error, four_letter};

mod builder;
mod logins;
#[cfg(feature = "tls")]
mod secure;

pub use builder::ZooKeeperBuilder;
pub(crate) use builder::options_of_servers;
#[cfg(feature = "tls")]
use secure::SecurePort;

/// The time limit for an answer, so that a paused server cannot block its owner forever.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The time limit for a probe. It is short because a starting server never answers some of the connections
/// that it accepts, and must be asked again.
const PROBE_WITHIN: Duration = Duration::from_millis(250);

/// A running ZooKeeper server, either alone or in an [`Ensemble`](crate::Ensemble).
///
/// It ends when this value is dropped or the process that owns it ends. It listens only on the loopback
/// interface. Its methods block the calling thread.
///
/// ```no_run
/// use std::time::Duration;
/// use zklock_testkit::ZooKeeper;
///
/// let zookeeper = ZooKeeper::builder().tick_time(Duration::from_millis(500)).start()?;
/// zookeeper.pause()?;
/// zookeeper.resume()?;
/// zookeeper.restart()?;
/// zookeeper.stop()?;
/// # Ok::<(), zklock_testkit::Error>(())
/// ```
#[derive(Debug)]
pub struct ZooKeeper {
    address: SocketAddr,
    connect_string: String,
    #[cfg(feature = "tls")]
    secure: Option<SecurePort>,
    // Dropped before the directory, so that the server no longer writes to it.
    supervisor: Mutex<Supervisor>,
    directory: TempDir,
}

impl ZooKeeper {
    /// Returns the address that clients connect to, as `ADDRESS:PORT`; it is a loopback address.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of the server, which is removed when this value is dropped.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The process id of the server, or `None` after a [`kill`](Self::kill).
    pub fn pid(&self) -> Option<u32> {
        self.supervisor().server()
    }

    /// Returns the server's log since its last start.
    pub fn log(&self) -> io::Result<String> {
        let log = fs::read(self.directory().join("server.log"))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Sends a four-letter word such as `mntr` or `srvr` to the server, and returns its answer.
    pub fn four_letter(&self, word: &str) -> io::Result<String> {
        four_letter::ask(self.address, word, ANSWER_WITHIN)
    }

    /// Returns how many packets clients have sent to the server, including the one that this method sends. The server must
    /// answer.
    pub fn packets_received(&self) -> u64 {
        four_letter::monitored(self.address, "zk_packets_received", ANSWER_WITHIN)
    }

    /// Returns how many watches clients have set on the server, which must answer.
    pub fn watch_count(&self) -> u64 {
        four_letter::monitored(self.address, "zk_watch_count", ANSWER_WITHIN)
    }

    /// Stops the server's process (SIGSTOP), which keeps its connections and sends nothing from then on.
    pub fn pause(&self) -> Result<(), Error> {
        self.supervise(Supervisor::pause)
    }

    /// Continues the server's process (SIGCONT) after a [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), Error> {
        self.supervise(|supervisor| supervisor.signal("CONT"))
    }

    /// Kills the server's process (SIGKILL) and waits until it has gone.
    ///
    /// The data remains, and a [`restart`](Self::restart) uses the same port.
    pub fn kill(&self) -> Result<(), Error> {
        self.supervisor().end_server().map_err(Error::io("kill ZooKeeper"))
    }

    /// Starts the server again with the same port and data, after killing it if it is running, and waits
    /// until it is ready. A server of an ensemble is ready only with a quorum.
    pub fn restart(&self) -> Result<(), Error> {
        let mut supervisor = self.supervisor();
        supervisor.end_server().map_err(Error::io("kill ZooKeeper"))?;
        supervisor.start().map_err(Error::io("start ZooKeeper"))?;
        supervisor.wait_until_ready(|| self.serves(), || self.log().unwrap_or_default())
    }

    /// Ends the server and removes its directory, as dropping it does.
    pub fn stop(self) -> Result<(), Error> {
        self.supervisor().close().map_err(Error::io("stop ZooKeeper"))
    }

    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn supervise(&self, signal: impl FnOnce(&mut Supervisor) -> io::Result<()>) -> Result<(), Error> {
        let mut supervisor = self.supervisor();
        if supervisor.server().is_none() {
            return Err(Error::NotRunning { address: self.address });
        }
        signal(&mut supervisor).map_err(Error::io("signal ZooKeeper"))
    }

    /// Returns whether the server at the address is ready and is this one: the port may have been taken.
    fn serves(&self) -> bool {
        let answers = |word, part: &str| self.probe(word).is_ok_and(|text| text.contains(part));
        answers("ruok", "imok")
            && answers("srvr", "Mode: ")
            && self.probe("conf").is_ok_and(|conf| self.is_described_by(&conf))
    }

    /// Returns whether an answer to `conf` is that of this server, with all its ports open.
    fn is_described_by(&self, conf: &str) -> bool {
        let name = self.directory().file_name().unwrap_or_default().to_string_lossy();
        // The server opens the port with TLS after the other one.
        #[cfg(feature = "tls")]
        let is_open = self.secure.as_ref().is_none_or(|port| port.is_open(conf));
        #[cfg(not(feature = "tls"))]
        let is_open = true;
        conf.contains(&*name) && is_open
    }

    /// Sends a four-letter word with a short time limit; the caller sends it again if the limit is exceeded.
    pub(crate) fn probe(&self, word: &str) -> io::Result<String> {
        four_letter::ask(self.address, word, PROBE_WITHIN)
    }
}

/// Writes a file, which only the user of this process may read if this creates it.
fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())
}
