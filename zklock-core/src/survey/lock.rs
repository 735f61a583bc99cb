//! A lock that a survey found.

use std::fmt;

use crate::participant::Participant;

/// A lock that is held or waited for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SurveyedLock {
    /// Its path below the client's namespace.
    pub path: String,
    /// Its kind.
    pub kind: LockKind,
    /// The number of places in its queue that hold it.
    pub holding: u32,
    /// The number of places in its queue that wait. The calls of one client share a place; see
    /// [`Participant::waiting_here`].
    pub waiting: u32,
    /// The first of its participants, holders before waiters, up to the bound of the survey. Some may have left between
    /// the requests, and some may have an ACL that keeps this client from reading them.
    pub participants: Vec<Participant>,
}

/// The kind of a lock, by the names of the nodes in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockKind {
    /// A mutex, or the election of [`LeaderSelector`](crate::LeaderSelector)s, which are equal on the servers. Also a
    /// lock of kazoo without readers.
    Mutex,
    /// A read-write lock.
    RwLock,
    /// A semaphore, or a mutex of [`Client::exclusive`](crate::Client::exclusive).
    Semaphore,
    /// The election of [`LeaderLatch`](crate::LeaderLatch)es.
    Election,
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mutex => "a mutex",
            Self::RwLock => "a read-write lock",
            Self::Semaphore => "a semaphore",
            Self::Election => "an election",
        })
    }
}
