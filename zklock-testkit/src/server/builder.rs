use std::net::SocketAddr;
use std::time::Duration;

use super::EmbeddedServer;
use super::core::Core;
use crate::model::Settings;
use crate::wire::MAX_FRAME;
use crate::{Error, ports};

/// The options of an [`EmbeddedServer`].
#[derive(Clone, Debug)]
#[must_use = "a server starts by `start`"]
pub struct EmbeddedServerBuilder {
    listen: SocketAddr,
    settings: Settings,
    max_buffer: usize,
}

impl EmbeddedServerBuilder {
    fn new() -> Self {
        Self { listen: (ports::loopback(), 0).into(), settings: Settings::default(), max_buffer: MAX_FRAME }
    }

    /// Sets where to listen: a loopback address, by default one of its own with a free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets ZooKeeper's `tickTime`, in whole milliseconds from 1 on; by default 2 s.
    ///
    /// Sessions end at multiples of it.
    pub fn tick_time(mut self, tick_time: Duration) -> Self {
        self.settings.tick_time = tick_time;
        self
    }

    /// Sets the least session timeout that is given; by default two ticks.
    pub fn min_session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.min_session_timeout = Some(timeout);
        self
    }

    /// Sets the greatest session timeout that is given; by default twenty ticks.
    pub fn max_session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.max_session_timeout = Some(timeout);
        self
    }

    /// Sets ZooKeeper's `jute.maxbuffer`: the most bytes of a request, by default 1 MiB less one and at most
    /// 2 GiB less one.
    pub fn max_buffer(mut self, bytes: usize) -> Self {
        // Greater lengths are negative ones.
        self.max_buffer = bytes.min(i32::MAX as usize);
        self
    }

    /// Sets `znode.container.checkIntervalMs`: how often used-up containers are deleted, by default 60 s.
    pub fn container_check_interval(mut self, interval: Duration) -> Self {
        self.settings.container_check_interval = interval;
        self
    }

    /// Starts the server; it serves when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] for an address that others could reach, and [`Error::Io`] when the address is
    /// taken.
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
    /// Those of [`EmbeddedServerBuilder::start`].
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Gives the options of a server to set and start.
    pub fn builder() -> EmbeddedServerBuilder {
        EmbeddedServerBuilder::new()
    }
}
