//! The embedded server: a ZooKeeper server inside this process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::listener::{Listener, accept, loopback};
use crate::model::{Model, SessionView, Settings};
use crate::wire::{ErrorCode, MAX_FRAME, Stat};
use crate::{Error, four_letter};

mod connection;
mod core;
mod words;

use core::Core;

/// The time limit for an answer, so that a paused server cannot block its owner forever.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A ZooKeeper server inside this process, which ends when this value is dropped.
///
/// It speaks the client protocol of ZooKeeper 3.9 on top of a [`Model`], keeps
/// everything in memory, and listens only on a loopback address. It runs on its own thread, so it can be used
/// from any runtime or none. It starts within milliseconds.
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
    /// Starts a server with the default options on a free port.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if no port or thread is available.
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> EmbeddedServerBuilder {
        let listen = (loopback(), 0).into();
        EmbeddedServerBuilder { listen, settings: Settings::default(), max_buffer: MAX_FRAME }
    }

    /// Returns the address that clients connect to, as `ADDRESS:PORT`.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends one of the four-letter words to the server, and returns its answer.
    ///
    /// The server knows `ruok`, `srvr`, `stat`, `srst`, `mntr`, `cons`, `crst`, `dump`, `wchs`, `wchp`, `wchc`,
    /// `isro`, `conf`, `envi` and `dirs`. It keeps nothing on disk, so the sizes that `dirs` tells are zero.
    ///
    /// # Errors
    ///
    /// The server is not running, or does not answer in time.
    pub fn four_letter(&self, word: &str) -> io::Result<String> {
        four_letter::ask(self.address, word, ANSWER_WITHIN)
    }

    /// Returns how many packets clients have sent to the server, including the one that this method sends.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer in time.
    pub fn packets_received(&self) -> u64 {
        four_letter::monitored(self.address, "zk_packets_received", ANSWER_WITHIN)
    }

    /// Returns how many watches clients have set on the server.
    pub fn watch_count(&self) -> u64 {
        self.core.model(|model| model.watch_count()) as u64
    }

    /// Stops serving without closing anything, as SIGSTOP does to a process.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] if the server was killed.
    pub fn pause(&self) -> Result<(), Error> {
        self.running(Core::pause)
    }

    /// Resumes serving after a [`pause`](Self::pause). Sessions that timed out in the meantime expire first.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] if the server was killed.
    pub fn resume(&self) -> Result<(), Error> {
        self.running(Core::resume)
    }

    /// Closes the port and all connections; the data remains.
    ///
    /// # Errors
    ///
    /// Returns no error today; that of a real server can fail.
    pub fn kill(&self) -> Result<(), Error> {
        let mut listener = self.listener();
        drop(listener.take());
        self.core.stop();
        Ok(())
    }

    /// Starts the server again with the same port and data, after killing it if it is running.
    ///
    /// As on a real server, the timeout of every session starts anew.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if another program has taken the port, or no thread is available.
    pub fn restart(&self) -> Result<(), Error> {
        self.start_again(Model::restart)
    }

    /// Starts the server again with the same port and without any data, session or transaction.
    ///
    /// # Errors
    ///
    /// Those of [`restart`](Self::restart).
    pub fn restart_empty(&self) -> Result<(), Error> {
        self.start_again(Model::restart_empty)
    }

    fn start_again(&self, prepare: fn(&mut Model, Duration)) -> Result<(), Error> {
        let mut listener = self.listener();
        // The old listener must be gone before the new one takes its port.
        drop(listener.take());
        self.core.start_again(prepare);
        *listener = Some(serve(self.address, &self.core)?);
        Ok(())
    }

    /// Ends a session as its expiry would: closes its connection and deletes its ephemeral nodes, which are
    /// gone when this returns. A session that does not exist is ignored.
    pub fn expire(&self, session: i64) {
        self.core.change(|model| model.expire(session));
    }

    /// Sets the wall clock of the server forward, by which it stamps nodes. Sessions do not notice.
    pub fn advance_wall_clock(&self, by: Duration) {
        self.core.change(|model| model.advance_wall_clock(by));
    }

    /// Closes the connection of a session; the session stays alive, and its client may reconnect at once.
    pub fn disconnect(&self, session: i64) {
        self.core.change(|model| model.disconnect_session(session));
    }

    /// Deletes a node and its descendants regardless of their ACLs, and returns the number of deleted nodes.
    ///
    /// The root and the server's own nodes are not deleted.
    pub fn delete(&self, path: &str) -> usize {
        self.core.change(|model| model.delete(path))
    }

    /// Leaves a node out of the list of its parent's children, as a server with the fault
    /// [ZOOKEEPER-4846](https://issues.apache.org/jira/browse/ZOOKEEPER-4846) can do after a restart.
    ///
    /// The node exists otherwise: it can be read and deleted, is among the ephemeral nodes of its session, and ends
    /// with it. No client is told. Its parent counts as empty, so that the server may delete it.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::NO_NODE`] if there is no such node.
    pub fn unlist(&self, path: &str) -> Result<(), ErrorCode> {
        self.core.change(|model| model.unlist(path))
    }

    /// Sets the number for the next sequential child of a node, such as one near the end of the counter.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::NO_NODE`] if there is no such node.
    pub fn set_counter(&self, path: &str, next: i32) -> Result<(), ErrorCode> {
        self.core.change(|model| model.set_counter(path, next))
    }

    /// Returns the live sessions.
    pub fn sessions(&self) -> Vec<SessionView> {
        self.core.model(|model| model.sessions())
    }

    /// Returns the sessions that watch each path.
    pub fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        self.core.model(|model| model.watches())
    }

    /// Returns the sorted paths of all nodes.
    pub fn paths(&self) -> Vec<String> {
        self.core.model(|model| model.paths())
    }

    /// Returns the stat of a node, or `None` if the node does not exist.
    pub fn node(&self, path: &str) -> Option<Stat> {
        self.core.model(|model| model.node(path))
    }

    /// Returns whether a client is connected to this session now.
    pub fn is_connected(&self, session: i64) -> bool {
        self.sessions().iter().any(|view| view.id == session && view.connection.is_some())
    }

    /// Calls `act` if the server is running, and keeps it from being killed until `act` returns.
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

/// Accepts connections, and keeps the model's time.
fn serve(address: SocketAddr, core: &Arc<Core>) -> Result<Listener, Error> {
    let served = Arc::clone(core);
    Listener::start("zk-server", address, async move |listener| {
        // A client may ask for the port at once.
        if let Ok(address) = listener.local_addr() {
            served.address.get_or_init(|| address);
        }
        let connections = async {
            loop {
                served.until_running().await;
                let (stream, peer) = accept(&listener).await;
                tokio::spawn(connection::serve(Arc::clone(&served), stream, peer));
            }
        };
        tokio::join!(served.keep_time(), connections)
    })
}

/// The options of an [`EmbeddedServer`].
#[derive(Clone, Debug)]
#[must_use = "nothing runs until `start` is called"]
pub struct EmbeddedServerBuilder {
    listen: SocketAddr,
    settings: Settings,
    max_buffer: usize,
}

impl EmbeddedServerBuilder {
    /// Sets the loopback address to listen on (default: a random one, with a free port).
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets ZooKeeper's `tickTime`, in whole milliseconds and at least 1 ms (default: 2 s).
    ///
    /// Sessions expire only at multiples of it.
    pub fn tick_time(mut self, tick_time: Duration) -> Self {
        self.settings.tick_time = tick_time;
        self
    }

    /// Sets the shortest session timeout that the server grants (default: two ticks).
    pub fn min_session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.min_session_timeout = Some(timeout);
        self
    }

    /// Sets the longest session timeout that the server grants (default: twenty ticks).
    pub fn max_session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.max_session_timeout = Some(timeout);
        self
    }

    /// Sets ZooKeeper's `jute.maxbuffer`, the maximum size of a request in bytes (default: 1 MiB less one).
    ///
    /// A value above 2 GiB less one is lowered to that.
    pub fn max_buffer(mut self, bytes: usize) -> Self {
        // Greater lengths would be read as negative ones.
        self.max_buffer = bytes.min(i32::MAX as usize);
        self
    }

    /// Sets `znode.container.checkIntervalMs`, how often used-up containers and nodes that have outlived their
    /// time to live are deleted (default: 60 s).
    pub fn container_check_interval(mut self, interval: Duration) -> Self {
        self.settings.container_check_interval = interval;
        self
    }

    /// Lets clients create nodes with a time to live, as `zookeeper.extendedTypesEnabled` does (default: they
    /// are refused).
    ///
    /// A time to live is between 1 ms and 0xff_ffff_ffff ms, and begins anew with each change of the node's data.
    /// The server deletes the node at the first check of
    /// [`container_check_interval`](Self::container_check_interval) at which the time is over and the node has
    /// no child.
    pub fn ttl_nodes(mut self) -> Self {
        self.settings.ttl_nodes = true;
        self
    }

    /// Makes clients superusers that prove the user and the password of this digest, as
    /// `zookeeper.DigestAuthenticationProvider.superDigest` does (default: there is no superuser).
    ///
    /// ACLs do not bind a superuser. A digest is `USER:BASE64(SHA1(USER:PASSWORD))`; any other text makes nobody a
    /// superuser.
    ///
    /// ```
    /// use zklock_testkit::EmbeddedServer;
    ///
    /// // The password is `admin`.
    /// let digest = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";
    /// let server = EmbeddedServer::builder().super_digest(digest).start()?;
    /// # Ok::<(), zklock_testkit::Error>(())
    /// ```
    pub fn super_digest(mut self, digest: &str) -> Self {
        self.settings.super_digest = Some(digest.to_owned());
        self
    }

    /// Starts the server, which is ready when this returns.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotLoopback`] for an address that other machines could reach, and [`Error::Io`] if
    /// the address is taken.
    pub fn start(self) -> Result<EmbeddedServer, Error> {
        if !self.listen.ip().is_loopback() {
            return Err(Error::NotLoopback { address: self.listen });
        }
        let core = Arc::new(Core::new(self.settings, self.max_buffer));
        let listener = serve(self.listen, &core)?;
        let address = listener.address();
        let connect_string = address.to_string();
        Ok(EmbeddedServer { address, connect_string, core, listener: Mutex::new(Some(listener)) })
    }
}
