//! What a contender wants of a queue, and who has to leave before it may have it.

use std::fmt;
use std::sync::Arc;

/// What a contender is to the others of its queue; it stands in its node's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// A mutex: one at a time (Curator's `InterProcessMutex`).
    Exclusive,
    /// The shared side of a read-write lock (`InterProcessReadWriteLock`).
    Read,
    /// Its exclusive side.
    Write,
    /// One permit of a semaphore (`InterProcessSemaphoreV2`).
    Permit,
    /// A candidate of an election (`LeaderLatch`).
    Latch,
}

impl Role {
    pub(crate) const ALL: [Self; 5] = [Self::Exclusive, Self::Read, Self::Write, Self::Permit, Self::Latch];

    /// What stands in front of the sequence in the names of such nodes.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Self::Exclusive => "lock-",
            Self::Read => "__READ__",
            Self::Write => "__WRIT__",
            Self::Permit => "lease-",
            Self::Latch => "latch-",
        }
    }

    /// Tells whether both are parts of one recipe, so that they can share a queue.
    pub(crate) fn is_akin_to(self, other: Self) -> bool {
        use Role::{Read, Write};
        self == other || matches!((self, other), (Read, Write) | (Write, Read))
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

/// What one contender claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Claim {
    /// A place that becomes its turn when nobody is left in front whom it has to wait for.
    Place(Place),
    /// One of so many permits: as many of those in front may stay.
    Permit { of: u32 },
}

/// A claim to a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) role: Role,
    /// Contenders of other clients that are honoured: what stands in front of their sequence.
    pub(crate) also_behind: Arc<[String]>,
}

impl Claim {
    pub(crate) fn place(role: Role) -> Self {
        Self::Place(Place { role, also_behind: Arc::default() })
    }

    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Place(place) => place.role,
            Self::Permit { .. } => Role::Permit,
        }
    }

    /// The names that are honoured besides those of our own grammar.
    pub(crate) fn also_behind(&self) -> &[String] {
        match self {
            Self::Place(place) => &place.also_behind,
            Self::Permit { .. } => &[],
        }
    }

    /// Tells whether one of role `other` that is in front has to leave first.
    pub(crate) fn waits_for(&self, other: Role) -> bool {
        match self.role() {
            Role::Exclusive | Role::Write | Role::Permit | Role::Latch => true,
            Role::Read => other != Role::Read,
        }
    }
}

/// Where the contenders of a semaphore pass one by one, and where its permits are, below its path.
pub(crate) const GATE: &str = "locks";
pub(crate) const LEASES: &str = "leases";

/// What kazoo puts in front of the sequence of a shared contender.
const KAZOO_READ: &str = "__rlock__";

/// What a contender of another client is, by what stands in front of its sequence.
pub(crate) fn role_of_stranger(pattern: &str) -> Role {
    if pattern.ends_with(KAZOO_READ) { Role::Read } else { Role::Write }
}
