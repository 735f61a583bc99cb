//! The kind of lock that a node is, from the names of its children.
//!
//! Pure: no request.

use crate::queue::claim::{Claim, GATE, LEASES, Role};
use crate::queue::contender::{Contender, is_numbered};
use crate::queue::turn;

use super::lock::LockKind;

/// The children of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The node is a lock of this kind.
    pub(super) queue: Option<Queue>,
    /// The node is a semaphore, whose queues are below it.
    pub(super) is_semaphore: bool,
    /// The children that may be locks, or have locks below them.
    pub(super) below: Vec<String>,
}

/// The queue of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) kind: LockKind,
    /// Its contenders in order.
    pub(super) places: Vec<Place>,
}

/// One place in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) holds: bool,
}

impl Reading {
    pub(super) fn of(names: &[String]) -> Self {
        let is_semaphore = [GATE, LEASES].iter().all(|own| names.iter().any(|name| name == own));
        let is_own = |name: &str| is_semaphore && (name == GATE || name == LEASES);
        let below = names.iter().filter(|name| !is_numbered(name) && !is_own(name)).cloned().collect();
        Self { queue: Queue::of(names, Claim::place), is_semaphore, below }
    }
}

impl Queue {
    /// Reads the contenders of all libraries among the children of a node. Returns `None` if there are none.
    pub(super) fn of(names: &[String], claim: impl Fn(Role) -> Claim) -> Option<Self> {
        let strangers = KAZOO.map(str::to_owned);
        let contenders = turn::in_order(names, &strangers);
        let kind = kind(&contenders)?;
        let holders = turn::holders(&contenders, claim);
        let place = |(contender, holds): (Contender<'_>, bool)| Place {
            name: contender.name.to_owned(),
            role: contender.role,
            holds,
        };
        Some(Self { kind, places: contenders.into_iter().zip(holders).map(place).collect() })
    }
}

/// The first contender determines the kind. kazoo's writers have no other name than its mutexes.
fn kind(contenders: &[Contender<'_>]) -> Option<LockKind> {
    let first = contenders.first()?;
    let is_own = Contender::parse(first.name).is_some();
    let has_readers = contenders.iter().any(|contender| contender.role == Role::Read);
    Some(match first.role {
        Role::Write if !is_own && !has_readers => LockKind::Mutex,
        Role::Read | Role::Write => LockKind::RwLock,
        Role::Exclusive => LockKind::Mutex,
        Role::Permit => LockKind::Semaphore,
        Role::Latch => LockKind::Election,
    })
}

/// The texts in front of the sequences of kazoo's contenders.
const KAZOO: [&str; 2] = ["__lock__", "__rlock__"];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(names: &[&str]) -> Reading {
        Reading::of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn kind_of(names: &[&str]) -> Option<LockKind> {
        read(names).queue.map(|queue| queue.kind)
    }

    #[test]
    fn the_names_of_a_queue_tell_the_kind_of_its_lock() {
        for (names, kind) in [
            (&["_c_6ba7b810-9dad-41d1-80b4-00c04fd40000-lock-0000000000"][..], LockKind::Mutex),
            (&["x-__READ__0000000001", "x-__WRIT__0000000002"], LockKind::RwLock),
            (&["x-latch-0000000003"], LockKind::Election),
            (&["x-lease-0000000003"], LockKind::Semaphore),
            (&["0f__lock__0000000000"], LockKind::Mutex),
            (&["0f__lock__0000000000", "0e__rlock__0000000001"], LockKind::RwLock),
        ] {
            assert_eq!(kind_of(names), Some(kind), "{names:?}");
        }
        assert_eq!(kind_of(&["orders", "locks"]), None);
    }

    #[test]
    fn the_first_holds_and_readers_hold_together() {
        let holds = |names: &[&str]| {
            let queue = read(names).queue.unwrap();
            queue.places.iter().map(|place| place.holds).collect::<Vec<_>>()
        };
        assert_eq!(
            holds(&["b-lock-0000000008", "a-lock-0000000009", "c-lock-0000000007"]),
            [true, false, false]
        );
        assert_eq!(
            holds(&["a__READ__0000000001", "b__READ__0000000002", "c__WRIT__0000000003"]),
            [true, true, false]
        );
    }

    #[test]
    fn contenders_and_the_parts_of_a_semaphore_are_not_looked_into() {
        let reading = read(&["x-lock-0000000001", "orders", "locks", "leases", "member-0000000004"]);
        assert!(reading.is_semaphore);
        assert_eq!(reading.below, ["orders"]);
        let reading = read(&["locks", "orders"]);
        assert!(!reading.is_semaphore);
        assert_eq!(reading.below, ["locks", "orders"]);
    }
}
