//! The state that a proxy and its connections share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::counts::Counts;
use super::fault::{Fault, How};
use super::link::Link;
use super::trigger::{Kind, Trigger};

/// The state that a proxy and its connections share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) server: SocketAddr,
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
pub(super) type Cut = watch::Sender<Option<How>>;

impl State {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self { server, link: watch::Sender::default(), books: Mutex::default() }
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
        books.counts.connected();
        let (number, cut) = (books.counts.connections(), Arc::new(Cut::default()));
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
        books.counts.arrived(kind);
        let strikes = |rule: &mut Armed| {
            let released = matches!(&rule.fault, Fault::Hold(gate) if gate.is_released());
            !released && rule.trigger.strikes(kind)
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
            if let Fault::Hold(gate) = rule.fault {
                gate.release();
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
            peer.cut.send_replace(Some(how));
        }
    }
}
