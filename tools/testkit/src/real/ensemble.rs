//! An ensemble of real ZooKeeper servers.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fs, io, thread};

use crate::real::supervisor::{START_WITHIN, free_ports, start_on_free};
use crate::real::zookeeper::{ZooKeeperBuilder, options_of_servers};
use crate::{Direction, Error, Installation, Proxy, ZooKeeper, eventually};

/// Running ZooKeeper servers that form an ensemble, each of which ends like a single [`ZooKeeper`].
///
/// They listen only on the loopback interface. The methods block the calling thread.
///
/// ```no_run
/// use zklock_testkit::Ensemble;
///
/// let ensemble = Ensemble::start()?;
/// println!("connect to {}", ensemble.connect_string());
/// let old = ensemble.leader()?;
/// old.kill()?;
/// assert_ne!(ensemble.leader()?.address(), old.address());
/// old.restart()?;
/// # Ok::<(), zklock_testkit::Error>(())
/// ```
#[derive(Debug)]
pub struct Ensemble {
    servers: Vec<ZooKeeper>,
    connect_string: String,
    /// The links between the servers, if they can be cut.
    links: Vec<Link>,
}

/// The way on which one server reaches another as its leader.
#[derive(Debug)]
struct Link {
    ends: [usize; 2],
    proxy: Proxy,
}

impl Ensemble {
    /// Starts an ensemble with the default options.
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

    /// Returns the addresses that clients connect to: those of all servers, separated by commas.
    pub fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Returns the servers, each with its own address, log and process to kill, pause and restart.
    pub fn servers(&self) -> &[ZooKeeper] {
        &self.servers
    }

    /// Returns one of the servers, counted from zero.
    ///
    /// # Panics
    ///
    /// Panics if there is no such server.
    pub fn server(&self, index: usize) -> &ZooKeeper {
        &self.servers[index]
    }

    /// Waits until a majority of the servers is serving, and returns their leader.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoQuorum`] if too few servers are running, or if they have not agreed within 30 s.
    pub fn leader(&self) -> Result<&ZooKeeper, Error> {
        Ok(self.quorum()?.0)
    }

    /// Waits until a majority of the servers is serving, and returns the followers of their leader.
    ///
    /// A server that does not answer within 250 ms, such as a paused one, is not included.
    pub fn followers(&self) -> Result<Vec<&ZooKeeper>, Error> {
        Ok(self.quorum()?.1)
    }

    /// Cuts a server off from the others: nothing passes between a leader and a follower if it is one of them. Its clients
    /// still reach it, and votes still pass.
    ///
    /// A follower that is cut off answers reads until it gives its leader up.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble was not built with [`separable`](EnsembleBuilder::separable).
    pub fn separate(&self, server: &ZooKeeper) {
        self.links_of(server).for_each(|proxy| proxy.blackhole(Direction::Both));
    }

    /// Delays all data that passes between a server and the others in either direction, if one of them leads and the other
    /// one follows it. Votes are not delayed, and neither are its clients.
    ///
    /// A follower that is delayed answers reads from a state that the leader has left behind.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble was not built with [`separable`](EnsembleBuilder::separable).
    pub fn delay(&self, server: &ZooKeeper, delay: Duration) {
        self.links_of(server).for_each(|proxy| proxy.delay(Direction::Both, delay));
    }

    /// Ends the effect of [`separate`](Self::separate) and [`delay`](Self::delay). Data that was kept passes first.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble was not built with [`separable`](EnsembleBuilder::separable).
    pub fn join(&self, server: &ZooKeeper) {
        self.links_of(server).for_each(Proxy::heal);
    }

    fn links_of(&self, server: &ZooKeeper) -> impl Iterator<Item = &Proxy> {
        assert!(!self.links.is_empty(), "the ensemble was built without `separable`");
        let index = self.servers.iter().position(|other| other.address() == server.address());
        let index = index.expect("the server is one of the ensemble");
        self.links.iter().filter(move |link| link.ends.contains(&index)).map(|link| &link.proxy)
    }

    /// Starts all servers again with the same ports and data, after killing those that are running.
    ///
    /// It waits until all servers are ready. Unlike [`ZooKeeper::restart`], it can restart an ensemble
    /// without any running server.
    pub fn restart(&self) -> Result<(), Error> {
        thread::scope(|scope| {
            let restarts: Vec<_> =
                self.servers.iter().map(|server| scope.spawn(|| server.restart())).collect();
            restarts.into_iter().try_for_each(|restart| restart.join().expect("a restart does not panic"))
        })
    }

    /// Ends the servers and removes their directories, as dropping the ensemble does.
    pub fn stop(self) -> Result<(), Error> {
        self.servers.into_iter().try_for_each(ZooKeeper::stop)
    }

    /// Waits for a majority, and returns its leader and its followers.
    fn quorum(&self) -> Result<(&ZooKeeper, Vec<&ZooKeeper>), Error> {
        let late = || Error::NoQuorum { waited: START_WITHIN };
        eventually(START_WITHIN, || self.present_quorum()).ok_or_else(late)
    }

    fn present_quorum(&self) -> Option<(&ZooKeeper, Vec<&ZooKeeper>)> {
        let (mut leaders, mut followers) = (Vec::new(), Vec::new());
        for server in &self.servers {
            match Role::of(server) {
                Some(Role::Leader { zxid }) => leaders.push((zxid, server)),
                Some(Role::Follower) => followers.push(server),
                None => {}
            }
        }
        // A leader that was paused takes a while to learn that there is a newer one.
        let (_, leader) = leaders.into_iter().max_by_key(|(zxid, _)| *zxid)?;
        (2 * (1 + followers.len()) > self.servers.len()).then_some((leader, followers))
    }
}

/// The role that a serving server reports.
#[derive(Debug, PartialEq, Eq)]
enum Role {
    Leader { zxid: u64 },
    Follower,
}

impl Role {
    fn of(server: &ZooKeeper) -> Option<Self> {
        Self::parse(&server.probe("srvr").ok()?)
    }

    fn parse(answer: &str) -> Option<Self> {
        let value = |name| answer.lines().find_map(|line| line.strip_prefix(name));
        match value("Mode: ")? {
            "leader" => {
                let zxid = value("Zxid: 0x")?;
                Some(Self::Leader { zxid: u64::from_str_radix(zxid, 16).ok()? })
            }
            "follower" => Some(Self::Follower),
            _ => None,
        }
    }
}

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

    /// Lets [`Ensemble::separate`] cut servers off, and [`Ensemble::delay`] delay them, which both panic otherwise (default:
    /// they reach each other directly).
    pub fn separable(mut self) -> Self {
        self.is_separable = true;
        self
    }

    /// Starts the servers and waits until all are ready; this blocks the thread.
    pub fn start(self) -> Result<Ensemble, Error> {
        let servers = self.servers;
        self.start_at(|| Places::find(servers))
    }

    fn start_at(self, mut next_places: impl FnMut() -> io::Result<Places>) -> Result<Ensemble, Error> {
        let installation = self.server.find_installation()?;
        let prepare = |id| self.prepare(&installation, id);
        let servers = (1..=self.servers).map(prepare).collect::<Result<_, _>>()?;
        let mut ensemble = Ensemble { servers, connect_string: String::new(), links: Vec::new() };
        start_on_free(|| {
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

/// The addresses that the servers of an ensemble listen on.
struct Places {
    clients: Vec<SocketAddr>,
    /// For each server, its address as the leader and its address for votes.
    peers: Vec<(SocketAddr, SocketAddr)>,
}

impl Places {
    fn find(servers: usize) -> io::Result<Self> {
        let mut clients = free_ports(3 * servers)?;
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
