//! One ZooKeeper session: it is opened once, ends once, and never comes back.
//!
//! It lives on the runtime of its client's own thread, so heartbeats and withdrawals go on while the
//! runtimes of the user are blocked, shut down or absent.
//!
//! * [`ops`]: the requests.
//! * [`clock`]: until when the session surely lives, by what was answered.
//! * [`drive`]: performs an acquisition's actions, [`janitor`] its withdrawal, and
//!   [`presence`] notices that its node is gone.
//! * [`notice`]: how many watches a session may have.
//!
//! # Epochs
//!
//! The library publishes the latest state only, so a short disconnection may be seen as one change from
//! connected to connected. Every change that is seen therefore starts a new *epoch*, and what was
//! believed in the one before is verified in the next.

pub(crate) mod clock;
mod connection;
pub(crate) mod counter;
pub(crate) mod drive;
pub(crate) mod fault;
mod heartbeat;
pub(crate) mod janitor;
pub(crate) mod notice;
mod opening;
pub(crate) mod ops;
mod presence;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::clock::LeaseClock;
use self::ops::Ops;

pub(crate) use self::opening::{OpenError, Opening};

/// What may be believed of a client's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// It is connected.
    Connected,
    /// It is disconnected, or has not been answered again yet, and may live on.
    Suspended,
    /// It ended; the client opens the next one.
    Lost,
}

pub(crate) struct Session {
    id: i64,
    ops: Ops,
    link: watch::Sender<Link>,
    /// How many leases want heartbeats.
    leases: watch::Sender<usize>,
    /// Nobody may rely on the session any more.
    over: CancellationToken,
    /// The library is done with it.
    closed: CancellationToken,
    /// Paths where children were seen that are not of this recipe.
    strangers: Mutex<HashSet<String>>,
}

/// What the owner of a node says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    Ours,
    Foreign,
    Gone,
}

impl Ownership {
    /// Judges the owner of a node, if there is the node, by the session that created it.
    pub(crate) fn of(owner: Option<i64>, session: i64) -> Self {
        match owner {
            Some(owner) if owner == session => Self::Ours,
            Some(_) => Self::Foreign,
            None => Self::Gone,
        }
    }
}

/// The connection's state, and how often it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) epoch: u64,
    pub(crate) health: Health,
}

impl Session {
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn ops(&self) -> &Ops {
        &self.ops
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        self.ops.clock()
    }

    pub(crate) fn link(&self) -> Link {
        *self.link.borrow()
    }

    pub(crate) fn links(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Waits until the session ended.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// Takes the session for ended, where a request shows that it is although nobody said so.
    pub(crate) fn give_up(&self) {
        self.tell_lost();
        self.ops.close();
    }

    /// Closes the session: its leases are lost first, then given time to be released, and at last the server
    /// deletes what is left of it. Bounded by `within` for each of the two.
    pub(crate) async fn close(&self, within: Duration) {
        self.tell_lost();
        let mut leases = self.leases.subscribe();
        if timeout(within, leases.wait_for(|leases| *leases == 0)).await.is_err() {
            tracing::warn!("guards of lost locks are still there when the session is closed");
        }
        self.ops.close();
        if timeout(within, self.closed.cancelled()).await.is_err() {
            tracing::warn!("the session was not closed in time; it ends with its timeout");
        }
    }

    /// Wants heartbeats until the returned value is dropped.
    pub(crate) fn attend(self: &Arc<Self>) -> Attendance {
        self.leases.send_modify(|leases| {
            if *leases == 0 {
                self.clock().attend();
            }
            *leases += 1;
        });
        Attendance(self.clone())
    }

    /// Publishes what may be believed of the connection, unless the session has ended.
    fn tell_health(&self, health: Health) {
        let is_told = self.link.send_if_modified(|link| {
            let is_news = link.health != health && link.health != Health::Lost;
            if is_news {
                link.health = health;
            }
            is_news
        });
        if is_told {
            tracing::warn!(?health, "connection changed");
        }
    }

    fn tell_lost(&self) {
        self.link.send_modify(|link| link.health = Health::Lost);
        self.over.cancel();
    }

    /// Warns of a child that is no contender, once per path.
    fn note_stranger(&self, path: &str, stranger: &str) {
        let mut seen = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < WARNINGS && !seen.contains(path) {
            seen.insert(path.to_owned());
            tracing::warn!(path, stranger, "ignoring a child that is no contender of this lock");
        }
    }
}

/// One lease's wish for heartbeats.
pub(crate) struct Attendance(Arc<Session>);

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.leases.send_modify(|leases| {
            *leases -= 1;
            if *leases == 0 {
                self.0.clock().neglect();
            }
        });
    }
}

/// How many paths are warned of; memory stays bounded.
const WARNINGS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ours_only_with_our_session_as_its_owner() {
        assert_eq!(Ownership::of(Some(7), 7), Ownership::Ours);
        assert_eq!(Ownership::of(Some(8), 7), Ownership::Foreign);
        assert_eq!(Ownership::of(Some(0), 7), Ownership::Foreign);
        assert_eq!(Ownership::of(None, 7), Ownership::Gone);
    }
}
