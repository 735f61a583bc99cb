//! When the turn of a contender comes: which contenders have to leave the front of its queue first.

use std::fmt;
use std::sync::Arc;

/// The role of a contender in its queue, which is part of its node's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// A mutex: one holder at a time (Curator's `InterProcessMutex`).
    Exclusive,
    /// The shared side of a read-write lock (`InterProcessReadWriteLock`).
    Read,
    /// The exclusive side of a read-write lock.
    Write,
    /// One permit of a semaphore (`InterProcessSemaphoreV2`).
    Permit,
    /// A candidate of an election (`LeaderLatch`).
    Latch,
}

impl Role {
    pub(crate) const ALL: [Self; 5] = [Self::Exclusive, Self::Read, Self::Write, Self::Permit, Self::Latch];

    /// Returns the text in front of the sequence in the node names of this role.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Self::Exclusive => "lock-",
            Self::Read => "__READ__",
            Self::Write => "__WRIT__",
            Self::Permit => "lease-",
            Self::Latch => "latch-",
        }
    }

    /// Tells whether both roles belong to one recipe, so that they can share a queue.
    pub(crate) fn is_akin_to(self, other: Self) -> bool {
        self == other || matches!((self, other), (Self::Read, Self::Write) | (Self::Write, Self::Read))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusive => "a mutex",
            Self::Read | Self::Write => "a read-write lock",
            Self::Permit => "a semaphore",
            Self::Latch => "an election",
        })
    }
}

/// The condition under which the turn of a contender comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Predicate {
    /// A place in the queue. Its turn comes when no contender that it waits for is left in front.
    Place(Place),
    /// One of `of` permits. Its turn comes when fewer than `of` contenders are in front.
    Permit { of: u32 },
}

/// A place in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) role: Role,
    /// The contenders of other clients to wait for, by the text in front of their sequence.
    pub(crate) also_behind: Arc<[String]>,
}

impl Predicate {
    pub(crate) fn place(role: Role) -> Self {
        Self::Place(Place { role, also_behind: Arc::default() })
    }

    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Place(place) => place.role,
            Self::Permit { .. } => Role::Permit,
        }
    }

    /// Returns the name patterns that are honoured besides zklock's own grammar.
    pub(crate) fn also_behind(&self) -> &[String] {
        match self {
            Self::Place(place) => &place.also_behind,
            Self::Permit { .. } => &[],
        }
    }

    /// Tells whether a contender of role `other` in front has to leave first.
    pub(crate) fn waits_for(&self, other: Role) -> bool {
        match self.role() {
            Role::Exclusive | Role::Write | Role::Permit | Role::Latch => true,
            Role::Read => other != Role::Read,
        }
    }

    /// Tells whether the end of the only contender in front, of role `other`, leaves none in front.
    ///
    /// A writer may end by a downgrade, which puts a reader in its place.
    pub(crate) fn inherits_from(&self, other: Role) -> bool {
        self.role() == Role::Exclusive && other == Role::Exclusive && self.also_behind().is_empty()
    }
}

/// The node below a semaphore's path that its contenders pass one at a time.
pub(crate) const GATE: &str = "locks";
/// The node below a semaphore's path that has the permits.
pub(crate) const LEASES: &str = "leases";

/// The text that kazoo puts in front of the sequence of a shared contender.
const KAZOO_READ: &str = "__rlock__";

/// Returns the role of another client's contender, given the text in front of its sequence.
pub(crate) fn role_of_stranger(pattern: &str) -> Role {
    if pattern.ends_with(KAZOO_READ) { Role::Read } else { Role::Write }
}
