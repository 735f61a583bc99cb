//! An ensemble of real ZooKeeper servers.
//!
//! This module may use only `error`, `eventually`, `installation`, `ports`, `proxy`, `supervisor` and `zookeeper`.

use std::thread;
use std::time::Duration;

use crate::real::supervisor::START_WITHIN;
use crate::{Direction, Error, Proxy, ZooKeeper, eventually};

mod builder;

pub use builder::EnsembleBuilder;

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
        Ok(self.quorum()?.leader)
    }

    /// Waits until a majority of the servers is serving, and returns the followers of their leader.
    ///
    /// A server that does not answer within 250 ms, such as a paused one, is not included.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`leader`](Self::leader).
    pub fn followers(&self) -> Result<Vec<&ZooKeeper>, Error> {
        Ok(self.quorum()?.followers)
    }

    /// Cuts a server off from the others: nothing passes between a leader and a follower if it is one of them. Its clients
    /// still reach it, and votes still pass.
    ///
    /// A follower that is cut off answers reads until it gives its leader up.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble was built without [`EnsembleBuilder::separable`], or if the server is not one of it.
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
    /// Panics if the ensemble was built without [`EnsembleBuilder::separable`], or if the server is not one of it.
    pub fn delay(&self, server: &ZooKeeper, delay: Duration) {
        self.links_of(server).for_each(|proxy| proxy.delay(Direction::Both, delay));
    }

    /// Ends the effect of [`separate`](Self::separate) and [`delay`](Self::delay). Data that was kept passes first.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble was built without [`EnsembleBuilder::separable`], or if the server is not one of it.
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
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EnsembleBuilder::start`].
    pub fn restart(&self) -> Result<(), Error> {
        thread::scope(|scope| {
            let restarts: Vec<_> =
                self.servers.iter().map(|server| scope.spawn(|| server.restart())).collect();
            restarts.into_iter().try_for_each(|restart| restart.join().expect("a restart does not panic"))
        })
    }

    /// Ends the servers and removes their directories, as dropping the ensemble does.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if waiting for the end fails.
    pub fn stop(self) -> Result<(), Error> {
        self.servers.into_iter().try_for_each(ZooKeeper::stop)
    }

    fn quorum(&self) -> Result<Quorum<'_>, Error> {
        let late = || Error::NoQuorum { waited: START_WITHIN };
        eventually(START_WITHIN, || Quorum::of(&self.servers)).ok_or_else(late)
    }
}

/// A majority of an ensemble.
struct Quorum<'a> {
    leader: &'a ZooKeeper,
    followers: Vec<&'a ZooKeeper>,
}

impl<'a> Quorum<'a> {
    fn of(servers: &'a [ZooKeeper]) -> Option<Self> {
        let mut leaders = Vec::new();
        let mut followers = Vec::new();
        for server in servers {
            match Role::of(server) {
                Some(Role::Leader { zxid }) => leaders.push((zxid, server)),
                Some(Role::Follower) => followers.push(server),
                None => {}
            }
        }
        // A leader that was paused takes a while to learn that there is a newer one.
        let (_, leader) = leaders.into_iter().max_by_key(|(zxid, _)| *zxid)?;
        (2 * (1 + followers.len()) > servers.len()).then_some(Self { leader, followers })
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
