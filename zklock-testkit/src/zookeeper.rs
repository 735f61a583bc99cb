use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::tail;
use crate::{Error, eventually, four_letter};

mod builder;
mod supervisor;

pub use builder::ZooKeeperBuilder;
use supervisor::Supervisor;

/// How long a server may take from its start until it serves.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(30);

/// How long a server may take to answer, so that a paused one cannot block its owner for ever.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A server that is starting accepts some connections and never answers them, so it is soon asked again.
const PROBE_WITHIN: Duration = Duration::from_millis(250);

/// A running ZooKeeper, alone or one of an [`Ensemble`](crate::Ensemble), which ends when this value is dropped or its process ends.
///
/// It listens only on the loopback interface. Its methods block the calling thread.
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
    // Dropped before the directory, so that no server writes to it any more.
    supervisor: Mutex<Supervisor>,
    directory: TempDir,
}

impl ZooKeeper {
    fn new(directory: TempDir, supervisor: Supervisor) -> Self {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        Self { address, connect_string: String::new(), supervisor: Mutex::new(supervisor), directory }
    }

    fn set_address(&mut self, address: SocketAddr) {
        self.address = address;
        self.connect_string = address.to_string();
    }

    /// Where clients connect, as `ADDRESS:PORT`; the address is one of the loopback interface.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of the server, which is removed at its end.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The process id of the server, or `None` after a [`kill`](Self::kill).
    pub fn pid(&self) -> Option<u32> {
        self.supervisor().server()
    }

    /// What the server has logged since it last started.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn log(&self) -> io::Result<String> {
        let log = fs::read(self.directory().join("server.log"))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Asks the server one of its four-letter words, such as `mntr` or `srvr`.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or has not answered within 5 s because it is paused.
    pub fn four_letter(&self, word: &str) -> io::Result<String> {
        four_letter::ask(self.address, word, ANSWER_WITHIN)
    }

    /// How many packets clients have sent to the server; each of these questions counts as one, itself included.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    pub fn packets_received(&self) -> u64 {
        four_letter::monitored(self.address, "zk_packets_received", ANSWER_WITHIN)
    }

    /// How many watches clients have set on the server.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    pub fn watch_count(&self) -> u64 {
        four_letter::monitored(self.address, "zk_watch_count", ANSWER_WITHIN)
    }

    /// Stops the server's process (SIGSTOP): it keeps its connections and says nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] after a [`kill`](Self::kill).
    pub fn pause(&self) -> Result<(), Error> {
        self.signal("STOP")
    }

    /// Lets the server's process go on after a [`pause`](Self::pause) (SIGCONT).
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] after a [`kill`](Self::kill).
    pub fn resume(&self) -> Result<(), Error> {
        self.signal("CONT")
    }

    /// Kills the server's process (SIGKILL) and waits until it has gone; its port and data remain.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the shell that watches the server has gone.
    pub fn kill(&self) -> Result<(), Error> {
        self.supervisor().end_server().map_err(Error::io("kill ZooKeeper"))
    }

    /// Starts the server again with the same port and data, after killing it if it runs, and waits until it
    /// serves. One of an ensemble serves only with a quorum.
    ///
    /// # Errors
    ///
    /// Those of [`ZooKeeperBuilder::start`].
    pub fn restart(&self) -> Result<(), Error> {
        let mut supervisor = self.supervisor();
        supervisor.end_server().map_err(Error::io("kill ZooKeeper"))?;
        supervisor.start().map_err(Error::io("start ZooKeeper"))?;
        self.wait_until_ready(&supervisor)
    }

    /// Ends the server and removes its directory, as dropping it does.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the end cannot be waited for.
    pub fn stop(self) -> Result<(), Error> {
        self.supervisor().close().map_err(Error::io("stop ZooKeeper"))
    }

    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, name: &str) -> Result<(), Error> {
        let mut supervisor = self.supervisor();
        if supervisor.server().is_none() {
            return Err(Error::NotRunning { address: self.address });
        }
        supervisor.signal(name).map_err(Error::io("signal ZooKeeper"))
    }

    fn wait_until_ready(&self, supervisor: &Supervisor) -> Result<(), Error> {
        let log = || tail(&self.log().unwrap_or_default());
        let attempt = || match supervisor.server_has_exited() {
            true => Some(Err(Error::Exited { log: log() })),
            false => self.serves().then_some(Ok(())),
        };
        let late = || Err(Error::NotReady { waited: START_WITHIN, log: log() });
        eventually(START_WITHIN, attempt).unwrap_or_else(late)
    }

    /// Whether the server behind our port serves, and is ours: another process may have been given the port.
    fn serves(&self) -> bool {
        let answers = |word, part: &str| self.probe(word).is_ok_and(|text| text.contains(part));
        let name = self.directory().file_name().unwrap_or_default().to_string_lossy();
        answers("ruok", "imok") && answers("srvr", "Mode: ") && answers("conf", &name)
    }

    /// Asks a question that is asked again if the answer does not come soon.
    pub(crate) fn probe(&self, word: &str) -> io::Result<String> {
        four_letter::ask(self.address, word, PROBE_WITHIN)
    }
}
