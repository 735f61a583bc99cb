use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::model::SessionView;
use crate::wire::{ErrorCode, Stat};
use crate::{Error, four_letter};

mod builder;
mod clock;
mod connection;
mod core;
mod listener;
mod words;

pub use builder::EmbeddedServerBuilder;
use core::Core;
use listener::Listener;

/// How long a server may take to answer, so that a paused one cannot block its owner for ever.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A ZooKeeper server inside of this process, which ends when this value is dropped.
///
/// It speaks the client protocol of ZooKeeper 3.9 over a [`Model`](crate::model::Model), keeps everything in
/// memory, and listens on a loopback address only. It has a thread of its own, so that it can be used from
/// any runtime or none. It starts within milliseconds.
///
/// ```
/// use zklock_testkit::EmbeddedServer;
///
/// let server = EmbeddedServer::start()?;
/// println!("connect to {}", server.connect_string());
/// for session in server.sessions() {
///     server.expire(session.id);
/// }
/// # Ok::<(), zklock_testkit::Error>(())
/// ```
#[derive(Debug)]
pub struct EmbeddedServer {
    address: SocketAddr,
    connect_string: String,
    core: Arc<Core>,
    listener: Mutex<Option<Listener>>,
}

impl EmbeddedServer {
    fn new(listen: SocketAddr, core: Core) -> Result<Self, Error> {
        let core = Arc::new(core);
        let listener = Listener::start(listen, &core)?;
        let address = listener.address();
        let connect_string = address.to_string();
        Ok(Self { address, connect_string, core, listener: Mutex::new(Some(listener)) })
    }

    /// Where clients connect, as `ADDRESS:PORT`.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the server one of its four-letter words: `ruok`, `srvr`, `stat`, `mntr`, `cons`, `dump`, `wchs`,
    /// `wchp`, `isro` or `conf`.
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
    pub fn watch_count(&self) -> u64 {
        self.core.model(|model| model.watch_count()) as u64
    }

    /// Stops serving without closing anything, as SIGSTOP does to a process: time goes on for clients only.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] after a [`kill`](Self::kill).
    pub fn pause(&self) -> Result<(), Error> {
        self.running(Core::pause)
    }

    /// Serves again after a [`pause`](Self::pause). Sessions that have timed out meanwhile end first.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] after a [`kill`](Self::kill).
    pub fn resume(&self) -> Result<(), Error> {
        self.running(Core::resume)
    }

    /// Closes the port and all connections, and serves nobody; the data remains.
    ///
    /// # Errors
    ///
    /// None today; a real server's can fail.
    pub fn kill(&self) -> Result<(), Error> {
        let mut listener = self.listener();
        drop(listener.take());
        self.core.stop();
        Ok(())
    }

    /// Starts the server again with the same port and data, after killing it if it runs.
    ///
    /// As on a real server, all sessions have their whole timeout then.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the port was taken by somebody else meanwhile.
    pub fn restart(&self) -> Result<(), Error> {
        self.start_again(Core::restart)
    }

    /// Starts the server again with the same port and without any data, session or transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the port was taken by somebody else meanwhile.
    pub fn restart_empty(&self) -> Result<(), Error> {
        self.start_again(Core::restart_empty)
    }

    fn start_again(&self, prepare: impl FnOnce(&Core)) -> Result<(), Error> {
        let mut listener = self.listener();
        // The old one is gone before the new one takes its port.
        drop(listener.take());
        prepare(&self.core);
        *listener = Some(Listener::start(self.address, &self.core)?);
        Ok(())
    }

    /// Ends a session as its expiry would: its connection is closed and its ephemeral nodes are gone when this
    /// returns. A session that does not exist is left alone.
    pub fn expire(&self, session: i64) {
        self.core.change(|model| model.expire(session));
    }

    /// Closes the connection of a session, which lives on; its client may connect again at once.
    pub fn disconnect(&self, session: i64) {
        self.core.change(|model| model.disconnect_session(session));
    }

    /// Deletes a node and all below it, whatever their ACLs say, and tells how many there were.
    ///
    /// The root and the server's own nodes stay.
    pub fn delete(&self, path: &str) -> usize {
        self.core.change(|model| model.delete(path))
    }

    /// Sets the number that the next sequential child of a node gets, to reach the end of the numbers.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::NO_NODE`].
    pub fn set_counter(&self, path: &str, next: i32) -> Result<(), ErrorCode> {
        self.core.change(|model| model.set_counter(path, next))
    }

    /// The sessions that live.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.core.model(|model| model.sessions())
    }

    /// The sessions that watch each path.
    pub fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.core.model(|model| model.watches())
    }

    /// The paths of all nodes, in order.
    pub fn paths(&self) -> Vec<String> {
        self.core.model(|model| model.paths())
    }

    /// The stat of a node, or `None` if there is no such node.
    pub fn node(&self, path: &str) -> Option<Stat> {
        self.core.model(|model| model.node(path))
    }

    /// Whether a client is connected to it now.
    pub fn is_connected(&self, session: i64) -> bool {
        self.sessions().iter().any(|view| view.id == session && view.connection.is_some())
    }

    /// Does something with a server that cannot be killed meanwhile.
    fn running(&self, act: impl FnOnce(&Core)) -> Result<(), Error> {
        match *self.listener() {
            Some(_) => {
                act(&self.core);
                Ok(())
            }
            None => Err(Error::NotRunning { address: self.address }),
        }
    }

    fn listener(&self) -> std::sync::MutexGuard<'_, Option<Listener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
