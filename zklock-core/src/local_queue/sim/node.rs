//! The nodes on the servers, and what a client knows of the leases that they prove.

use std::cell::RefCell;
use std::time::Instant;

use crate::lease::{Look, Readiness};
use crate::local_queue::held::{Handle, Mode};

/// A node below the lock. Its number is its place in the queue, and its zxid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) zxid: usize,
    pub(super) owner: Owner,
    /// The mode of the node on the servers.
    pub(super) mode: Mode,
    pub(super) exists: bool,
    pub(super) lease: Option<Lease>,
    /// The greatest number that the list of the entry could show.
    pub(super) seen: usize,
    pub(super) has_waited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Process(usize),
    /// A client without a line, such as one of another library.
    Foreigner,
}

/// The knowledge of a client about a node by which it holds the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub(super) is_lost: bool,
    pub(super) is_asked: bool,
    pub(super) is_doubtful: bool,
    pub(super) writing: Option<Mode>,
    pub(super) watch: Watch,
    pub(super) contended_since: Option<Instant>,
    /// Whether others came before the connection was last restored, which tells of them.
    pub(super) must_know: bool,
    pub(super) downgrade: Downgrade,
    pub(super) record: Record,
}

/// The watch that would tell the end of the own node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Watch {
    /// That of the entry's list. It fires once.
    #[default]
    Children,
    None,
    Own,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Downgrade {
    #[default]
    No,
    Ordered,
    Applied,
}

/// The grants of a node, counted beside the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) handoffs: u32,
    /// Since others were noticed, with that of the holder of that moment.
    pub(super) counted: u32,
    pub(super) first: Option<Instant>,
}

impl Node {
    pub(super) fn is_of(&self, process: usize) -> bool {
        self.owner == Owner::Process(process)
    }

    pub(super) fn lease(&mut self) -> &mut Lease {
        self.lease.as_mut().expect("a node that holds has a lease")
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lease.is_some_and(|lease| lease.is_lost)
    }
}

impl Lease {
    pub(super) fn look(&self, is_connected: bool) -> Look {
        let readiness = if self.is_lost {
            Readiness::Lost
        } else if self.is_asked || self.is_doubtful {
            Readiness::Over
        } else if is_connected && self.writing.is_none() {
            Readiness::Ready
        } else {
            Readiness::Pending
        };
        Look { readiness, contended_since: self.contended_since }
    }

    /// Takes note of others in the queue.
    pub(super) fn notice_others(&mut self, now: Instant) {
        if self.contended_since.is_none() {
            self.contended_since = Some(now);
            self.record.counted = self.record.handoffs.min(1);
        }
    }
}

thread_local! {
    /// The looks of all leases in the world that is being simulated at the moment.
    pub(super) static SCREEN: RefCell<Vec<(usize, Look)>> = const { RefCell::new(Vec::new()) };
}

/// A lease as a line has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) zxid: usize,
}

impl Handle for Claim {
    fn look(&self) -> Look {
        self.shown().expect("a line has only claims that its client has")
    }
}

impl Claim {
    /// Returns the look of the lease, unless it is forgotten.
    pub(super) fn shown(&self) -> Option<Look> {
        SCREEN.with_borrow(|screen| screen.iter().find(|(zxid, _)| *zxid == self.zxid).map(|(_, look)| *look))
    }
}
