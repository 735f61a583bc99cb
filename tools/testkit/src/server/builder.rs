//! The options of an embedded server.

use std::net::SocketAddr;
use std::time::Duration;

use super::EmbeddedServer;
use super::core::Core;
use crate::model::Settings;
use crate::wire::MAX_FRAME;
use crate::{Error, ports};

/// The options of an [`EmbeddedServer`].
#[derive(Clone, Debug)]
#[must_use = "nothing runs until `start` is called"]
pub struct EmbeddedServerBuilder {
    listen: SocketAddr,
    settings: Settings,
    max_buffer: usize,
}

impl EmbeddedServerBuilder {
    fn new() -> Self {
        Self { listen: (ports::loopback(), 0).into(), settings: Settings::default(), max_buffer: MAX_FRAME }
    }

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
    ///
    /// ```
    /// use zklock_testkit::wire::{Create, CreateFlags, Request};
    /// use zklock_testkit::{Conversation, EmbeddedServer};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = EmbeddedServer::builder().ttl_nodes().start()?;
    /// let mut client = Conversation::open(server.address()).await?;
    /// let create = Create::new("/a", "", CreateFlags::PERSISTENT_WITH_TTL);
    /// client.call(Request::CreateTtl { create, ttl: 60_000 }).await?.outcome?;
    /// # Ok(())
    /// # }
    /// ```
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
        EmbeddedServer::new(self.listen, Core::new(self.settings, self.max_buffer))
    }
}

impl EmbeddedServer {
    /// Starts a server with the default options on a free port.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EmbeddedServerBuilder::start`].
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> EmbeddedServerBuilder {
        EmbeddedServerBuilder::new()
    }
}
