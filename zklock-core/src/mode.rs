//! The way in which a lock is held, or wanted: a value that the queue, events, metrics and lists of participants share.
//!
//! Uses no other module of the crate.

use std::fmt;

/// The way in which a lock is held, or wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// A mutex, held by one participant at a time.
    Exclusive,
    /// The shared side of a read-write lock.
    Read,
    /// The exclusive side of a read-write lock.
    Write,
    /// One permit of a semaphore; in events, the permits of one call.
    Permit,
    /// Leadership of an election. A list of participants shows the candidate of a selector as `Exclusive`.
    Leader,
}

impl Mode {
    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Read => "read",
            Self::Write => "write",
            Self::Permit => "permit",
            Self::Leader => "leader",
        }
    }

    /// Returns the kind of lock whose queue has contenders of this mode.
    pub(crate) fn kind(self) -> LockKind {
        match self {
            Self::Exclusive => LockKind::Mutex,
            Self::Read | Self::Write => LockKind::RwLock,
            Self::Permit => LockKind::Semaphore,
            Self::Leader => LockKind::Election,
        }
    }
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
