//! The options of an ensemble, and its start.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::{Ensemble, Link};
use crate::real::ports;
use crate::real::zookeeper::{ZooKeeperBuilder, options_of_servers};
use crate::{Error, Installation, Proxy, ZooKeeper};

/// The options of an [`Ensemble`].
#[derive(Debug, Clone)]
#[must_use = "nothing runs until `start` is called"]
pub struct EnsembleBuilder {
    server: ZooKeeperBuilder,
    servers: usize,
    init_limit: u32,
    sync_limit: u32,
    /// Whether the servers reach each other through proxies.
    is_separable: bool,
}

options_of_servers!(EnsembleBuilder, server);

impl EnsembleBuilder {
    /// Sets the number of servers (default: 3, of which one may fail).
    pub fn servers(mut self, servers: usize) -> Self {
        self.servers = servers;
        self
    }

    /// Sets how many ticks a follower may take to connect to its leader and to get its data (default: 10).
    pub fn init_limit(mut self, ticks: u32) -> Self {
        self.init_limit = ticks;
        self
    }

    /// Sets after how many ticks of silence a leader and a follower give each other up (default: 5).
    ///
    /// After this time, another server takes over from a paused leader; a killed leader is noticed at once.
    pub fn sync_limit(mut self, ticks: u32) -> Self {
        self.sync_limit = ticks;
        self
    }

    /// Lets [`Ensemble::separate`] cut servers off, and [`Ensemble::delay`] delay them (default: they reach each other
    /// directly).
    pub fn separable(mut self) -> Self {
        self.is_separable = true;
        self
    }

    /// Starts the servers and waits until all are ready; this blocks the thread.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ZooKeeperBuilder::start`].
    pub fn start(self) -> Result<Ensemble, Error> {
        let servers = self.servers;
        self.start_at(|| Places::find(servers))
    }

    fn start_at(self, mut next_places: impl FnMut() -> io::Result<Places>) -> Result<Ensemble, Error> {
        let installation = self.server.find_installation()?;
        let prepare = |id| self.prepare(&installation, id);
        let servers = (1..=self.servers).map(prepare).collect::<Result<_, _>>()?;
        let mut ensemble = Ensemble { servers, connect_string: String::new(), links: Vec::new() };
        ports::start_on_free(|| {
            let places = next_places().map_err(Error::io("find free ports"))?;
            ensemble.links = self.links(&places)?;
            for (number, address) in places.clients.iter().enumerate() {
                let settings = self.settings_of_peers(number, &places, &ensemble.links);
                self.server.configure(&mut ensemble.servers[number], *address, &settings)?;
            }
            ensemble.restart()
        })?;
        let addresses: Vec<_> = ensemble.servers.iter().map(ZooKeeper::connect_string).collect();
        ensemble.connect_string = addresses.join(",");
        Ok(ensemble)
    }

    /// Creates a server, which learns its id from its data directory.
    fn prepare(&self, installation: &Installation, id: usize) -> Result<ZooKeeper, Error> {
        let server = self.server.prepare(installation)?;
        let data = server.directory().join("data");
        fs::create_dir(&data)
            .and_then(|()| fs::write(data.join("myid"), id.to_string()))
            .map_err(Error::io("write myid"))?;
        Ok(server)
    }

    /// Starts a proxy from each server to each other one, if the links can be cut.
    fn links(&self, places: &Places) -> Result<Vec<Link>, Error> {
        let mut links = Vec::new();
        for from in (0..self.servers).filter(|_| self.is_separable) {
            for (to, (quorum, _)) in places.peers.iter().enumerate().filter(|(to, _)| *to != from) {
                links.push(Link { ends: [from, to], proxy: Proxy::of_bytes(*quorum)? });
            }
        }
        Ok(links)
    }

    /// Returns the addresses of all servers, as one of them finds them.
    fn settings_of_peers(&self, from: usize, places: &Places, links: &[Link]) -> String {
        let limits = format!("initLimit={}\nsyncLimit={}\n", self.init_limit, self.sync_limit);
        let line = |(to, (quorum, election)): (usize, &(SocketAddr, SocketAddr))| {
            let link = links.iter().find(|link| link.ends == [from, to]);
            let quorum = link.map_or(*quorum, |link| link.proxy.address());
            format!("server.{}={quorum}:{}\n", to + 1, election.port())
        };
        limits + &places.peers.iter().enumerate().map(line).collect::<String>()
    }
}

impl Ensemble {
    /// Starts an ensemble with the default options.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EnsembleBuilder::start`].
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> EnsembleBuilder {
        EnsembleBuilder {
            server: ZooKeeper::builder(),
            servers: 3,
            init_limit: 10,
            sync_limit: 5,
            is_separable: false,
        }
    }
}

/// The addresses that the servers of an ensemble listen on.
struct Places {
    clients: Vec<SocketAddr>,
    /// For each server, its address as the leader and its address for votes.
    peers: Vec<(SocketAddr, SocketAddr)>,
}

impl Places {
    fn find(servers: usize) -> io::Result<Self> {
        let mut clients = ports::free(3 * servers)?;
        let peers = clients.split_off(servers);
        Ok(Self { clients, peers: peers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect() })
    }
}

// Real servers need Java, which the tests without features do without.
#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn ports_that_are_taken_are_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken_address = taken.local_addr().unwrap();
        let mut places = [Places::find(3).unwrap(), Places::find(3).unwrap()];
        places[0].clients[1] = taken_address;
        let mut places = places.into_iter();
        let ensemble = Ensemble::builder().start_at(|| Ok(places.next().unwrap())).unwrap();
        assert!(ensemble.servers().iter().all(|server| server.address() != taken_address));
        assert!(ensemble.leader().is_ok());
    }
}
