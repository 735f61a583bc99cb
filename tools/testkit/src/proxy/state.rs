//! The state that a proxy and its connections share: rules, counts, clients, and the link to the server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Sub;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{SetOnce, watch};
use tokio::time::Instant;

use super::rule::{Fault, How, Kind, Trigger};
use crate::wire::Opcode;

/// The state that a proxy and its connections share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) server: SocketAddr,
    /// Whether connections carry any bytes, and not the frames of the protocol.
    pub(super) is_raw: bool,
    pub(super) link: watch::Sender<Link>,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    rules: Vec<Armed>,
    counts: Counts,
    peers: BTreeMap<u64, Peer>,
}

/// A rule in force.
#[derive(Debug)]
pub(super) struct Armed {
    pub(super) trigger: Trigger,
    pub(super) fault: Fault,
    pub(super) hits: Arc<watch::Sender<u64>>,
}

/// A connected client.
#[derive(Debug)]
struct Peer {
    session: Option<i64>,
    cut: Arc<Cut>,
}

/// The channel that tells a connection to end, and how.
pub(super) type Cut = SetOnce<How>;

impl State {
    pub(super) fn new(server: SocketAddr, is_raw: bool) -> Self {
        Self { server, is_raw, link: watch::Sender::default(), books: Mutex::default() }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a new connection under a number, unless new connections are refused.
    pub(super) fn admit(&self) -> Option<(u64, Arc<Cut>)> {
        if self.link.borrow().refuses {
            return None;
        }
        let mut books = self.books();
        books.counts.connections += 1;
        let (number, cut) = (books.counts.connections, Arc::new(Cut::default()));
        books.peers.insert(number, Peer { session: None, cut: Arc::clone(&cut) });
        Some((number, cut))
    }

    /// Sets the session that a connection belongs to, or none.
    pub(super) fn attach(&self, number: u64, session: Option<i64>) {
        if let Some(peer) = self.books().peers.get_mut(&number) {
            peer.session = session;
        }
    }

    /// Removes a connection that has ended.
    pub(super) fn leave(&self, number: u64) {
        self.books().peers.remove(&number);
    }

    /// Counts a frame, and returns the fault of the rule that strikes it, if any.
    pub(super) fn judge(&self, kind: Kind) -> Option<Fault> {
        let mut books = self.books();
        *books.counts.frames.entry(kind).or_default() += 1;
        let strikes = |rule: &mut Armed| {
            let is_over = matches!(&rule.fault, Fault::Hold(released) if released.is_cancelled());
            !is_over && rule.trigger.strikes(kind)
        };
        let mut rules = books.rules.iter_mut();
        let rule = rules.find_map(|rule| strikes(rule).then_some(rule))?;
        rule.hits.send_modify(|hits| *hits += 1);
        Some(rule.fault.clone())
    }

    pub(super) fn arm(&self, rule: Armed) {
        self.books().rules.push(rule);
    }

    /// Removes all rules, and releases the frames that they hold.
    pub(super) fn disarm(&self) {
        for rule in std::mem::take(&mut self.books().rules) {
            if let Fault::Hold(released) = rule.fault {
                released.cancel();
            }
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.books().counts.clone()
    }

    pub(super) fn sessions(&self) -> Vec<i64> {
        self.books().peers.values().filter_map(|peer| peer.session).collect()
    }

    pub(super) fn cut(&self, how: How) {
        for (_, peer) in std::mem::take(&mut self.books().peers) {
            // A connection ends once.
            let _ = peer.cut.set(how);
        }
    }
}

/// The numbers of frames and connections that have arrived at a proxy.
///
/// A frame is counted when it arrives, even if a fault strikes it. The first frame of a connection and its
/// answer are counted as [`Opcode::CREATE_SESSION`].
///
/// The difference of two counts covers the time between them.
///
/// ```no_run
/// # use zklock_testkit::{Proxy, wire::Opcode};
/// # fn take_the_lock() {}
/// # fn example(proxy: &Proxy) {
/// let before = proxy.counts();
/// take_the_lock();
/// let spent = proxy.counts() - before;
/// assert_eq!(spent.requests(Opcode::CREATE2), 1);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    connections: u64,
    frames: BTreeMap<Kind, u64>,
}

impl Counts {
    /// Returns the number of requests with this opcode.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.sum(|kind| kind == Kind::Request(opcode))
    }

    /// Returns the number of requests, including pings and the first frames of connections.
    pub fn requests_total(&self) -> u64 {
        self.sum(|kind| matches!(kind, Kind::Request(_)))
    }

    /// Returns the number of replies to requests with this opcode.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.sum(|kind| matches!(kind, Kind::Reply(of, _) if of == opcode))
    }

    /// Returns the number of replies, including those to pings and the first frames of connections.
    pub fn replies_total(&self) -> u64 {
        self.sum(|kind| matches!(kind, Kind::Reply(..) | Kind::Unasked))
    }

    /// Returns the number of watch events.
    pub fn notifications(&self) -> u64 {
        self.sum(|kind| kind == Kind::Notification)
    }

    /// Returns the number of accepted connections, including ended ones but not refused ones.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    fn sum(&self, matches: impl Fn(Kind) -> bool) -> u64 {
        self.frames.iter().filter(|(kind, _)| matches(**kind)).map(|(_, count)| count).sum()
    }
}

impl Sub for Counts {
    type Output = Self;

    /// Returns the counts since `earlier`, each of which is zero if it is greater in `earlier`.
    fn sub(mut self, earlier: Self) -> Self {
        self.connections = self.connections.saturating_sub(earlier.connections);
        for (kind, count) in &mut self.frames {
            *count = count.saturating_sub(earlier.frames.get(kind).copied().unwrap_or_default());
        }
        self.frames.retain(|_, count| *count > 0);
        self
    }
}

/// The direction in which frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From clients to the server.
    ToServer,
    /// From the server to clients.
    ToClient,
    /// Both directions.
    Both,
}

/// The faults of the link; by default there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) to_server: Lane,
    pub(super) to_client: Lane,
    /// Whether new connections are reset.
    pub(super) refuses: bool,
}

impl Link {
    /// Changes the lanes of a direction.
    pub(super) fn change(&mut self, direction: Direction, change: impl Fn(&mut Lane)) {
        if direction != Direction::ToClient {
            change(&mut self.to_server);
        }
        if direction != Direction::ToServer {
            change(&mut self.to_client);
        }
    }

    /// Returns whether any direction is blackholed, so that no request can be answered.
    pub(super) fn is_blackholed(&self) -> bool {
        self.to_server.is_blackhole || self.to_client.is_blackhole
    }
}

/// The faults of one direction of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    /// Whether nothing arrives.
    pub(super) is_blackhole: bool,
    pub(super) delay: Duration,
}

impl Lane {
    /// Returns when a parcel arrives that was sent at `sent` and is delayed by `longer` than others; never if the result is
    /// `None`, unless the link changes.
    pub(super) fn arrival(&self, sent: Instant, longer: Duration) -> Option<Instant> {
        // A time beyond the range of the clock never comes.
        let due = sent.checked_add(self.delay).and_then(|due| due.checked_add(longer));
        due.filter(|_| !self.is_blackhole)
    }
}
