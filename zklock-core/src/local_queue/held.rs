//! A node, or a set of permits, that the calls of a local queue share, and the rules by which it goes from one to the next.

use std::mem;
use std::time::{Duration, Instant};

use crate::client::settings::Queueing;
use crate::lease::{Look, Readiness};
use crate::token::MAX_GRANTS;

/// The mode in which a call wants the lock, or in which a node holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

/// What the calls of a queue wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// One node, which they share.
    Lock,
    /// Sets of `each` permits, one set for each call. No client can hold more than `most` sets, if that is known.
    Permits { each: u32, most: Option<usize> },
}

/// The identity of a node within its local queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub(super) u64);

/// A lease, as far as a local queue looks at it. A clone is a claim to it: the node stays until the last one is dropped.
pub(super) trait Handle: Clone {
    /// Returns the present state of the lease, and records nothing.
    fn look(&self) -> Look;
}

/// Whether a node admits a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Now,
    /// The lock is in use, or the state of the lease is not known.
    Later,
    /// The node has to leave, or to stay with its present holders.
    Never,
}

/// The time for which a local queue keeps one node.
#[cfg_attr(test, derive(Clone, Debug, PartialEq, Eq, Hash))]
pub(super) struct HeldNode<L> {
    pub(super) id: NodeId,
    pub(super) claim: L,
    kind: Kind,
    /// The mode of the node.
    mode: Mode,
    /// The number of claims that are to be given back by the call that has the node alone, if there is one.
    claims: u32,
    /// The number of readers that have it together.
    readers: u32,
    /// The number of grants so far.
    pub(super) handoffs: u32,
    /// The number of grants since others may wait, with that of the holder of that moment.
    pub(super) grants: u32,
    /// The instant of the first grant.
    first: Instant,
}

impl<L: Handle> HeldNode<L> {
    pub(super) fn new(id: NodeId, (claim, kind): (L, Kind), mode: Mode, now: Instant) -> Self {
        Self { id, claim, kind, mode, claims: 0, readers: 0, handoffs: 0, grants: 0, first: now }
    }

    pub(super) fn is_vacant(&self) -> bool {
        self.claims + self.readers == 0
    }

    /// Returns whether a call in this mode needs another node.
    pub(super) fn keeps_out(&self, mode: Mode) -> bool {
        self.mode == Mode::Shared && mode == Mode::Exclusive
    }

    /// Returns whether a call in this mode need not wait for the present holders.
    pub(super) fn is_open_to(&self, mode: Mode) -> bool {
        self.claims == 0 && (mode == Mode::Shared || self.readers == 0)
    }

    /// Decides whether a call may have the lock under this node. A call that follows others in one batch of
    /// readers is not counted.
    pub(super) fn admits(&self, mode: Mode, is_batch: bool, limits: (Queueing, Instant)) -> Admission {
        if !self.is_open_to(mode) {
            // Another contender enters while the holders of a lost node end.
            return if self.is_lost() { Admission::Never } else { Admission::Later };
        }
        if self.keeps_out(mode) {
            return Admission::Never;
        }
        if is_batch && self.handoffs < MAX_GRANTS {
            return Admission::Now;
        }
        let Look { readiness, contended_since } = self.look();
        match readiness {
            Readiness::Over | Readiness::Lost => Admission::Never,
            Readiness::Ready | Readiness::Pending if self.is_spent(contended_since, limits) => {
                Admission::Never
            }
            Readiness::Ready => Admission::Now,
            Readiness::Pending => Admission::Later,
        }
    }

    /// Records a grant, and returns the number of earlier ones.
    pub(super) fn grant(&mut self, mode: Mode, is_batch: bool, now: Instant) -> u32 {
        if self.handoffs == 0 {
            self.first = now;
        }
        if !is_batch {
            self.grants = if self.look().contended_since.is_some() { self.grants + 1 } else { 1 };
        }
        match (mode, self.kind) {
            (Mode::Shared, _) => self.readers += 1,
            (Mode::Exclusive, Kind::Permits { each, .. }) => self.claims = each,
            (Mode::Exclusive, Kind::Lock) => self.claims = 1,
        }
        let handoff = self.handoffs;
        self.handoffs += 1;
        handoff
    }

    pub(super) fn give_back(&mut self) {
        let used = if self.readers > 0 { &mut self.readers } else { &mut self.claims };
        *used = used.saturating_sub(1);
    }

    /// Makes the node that of a reader, and its only holder a reader.
    pub(super) fn downgrade(&mut self) {
        self.mode = Mode::Shared;
        self.readers += mem::take(&mut self.claims);
    }

    /// Returns whether local readers keep other clients' readers out.
    pub(super) fn shuts_readers_out(&self) -> bool {
        self.mode == Mode::Exclusive && self.readers > 0 && !self.is_lost()
    }

    /// Returns the instant at which local readers have to let other clients' readers in, if that is bounded.
    pub(super) fn shuts_out_until(&self, queueing: Queueing) -> Option<Instant> {
        if self.shuts_readers_out() { self.turn_ends(self.look().contended_since, queueing) } else { None }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.claim.look().readiness == Readiness::Lost
    }

    /// Looks at the lease. Others wait at the gate of a semaphore, which the holders of permits do not see.
    fn look(&self) -> Look {
        let look = self.claim.look();
        match self.kind {
            Kind::Lock => look,
            Kind::Permits { .. } => Look { contended_since: Some(self.first), ..look },
        }
    }

    /// Returns the end of the turn of this client, if others wait since this instant. A bound beyond the clock's range is none.
    fn turn_ends(&self, contended_since: Option<Instant>, queueing: Queueing) -> Option<Instant> {
        let within = if self.grants >= queueing.turns { Duration::ZERO } else { queueing.within };
        self.first.max(contended_since?).checked_add(within)
    }

    /// Returns whether the turn of this client is over. Its first grant is always within the bounds.
    fn is_spent(&self, contended_since: Option<Instant>, (queueing, now): (Queueing, Instant)) -> bool {
        let is_over = self.turn_ends(contended_since, queueing).is_some_and(|end| end <= now);
        self.handoffs == MAX_GRANTS || (self.handoffs > 0 && is_over)
    }
}
