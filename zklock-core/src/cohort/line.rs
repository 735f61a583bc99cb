//! The line of one client's calls for one lock, as a pure state machine.
//!
//! The client has at most one node that its calls share, which is *kept*, and one that contends, which is
//! *coming*. A lock that is given back goes to the first call in line without a request, as long as the kept
//! node admits it:
//!
//! ```text
//!            headed                admitted
//!  coming ───────────► kept, held ◄───────── kept, vacant
//!    ▲                     │  given back          ▲  │ never again, or nobody waits
//!    │                     └──────────────────────┘  ▼
//!    └────────────── a call waits ◄───────────── the node leaves
//! ```
//!
//! A node that leaves is withdrawn beside the line, which goes on as if it had no node. A mutex is a line in
//! which all calls are exclusive.
//!
//! # Invariants
//!
//! 1. The module has no clock, task or I/O. The time comes in with each event, and a [`Handle`] tells the
//!    state of a lease. Every interleaving can therefore be simulated.
//! 2. A call is in line, granted, answered or gone: exactly one of them.
//! 3. Calls are granted in the order of their ids, except that readers join readers.

mod agenda;
mod call;
#[cfg(test)]
mod sim;
mod tenancy;
#[cfg(test)]
mod tests;
mod work;

use std::collections::VecDeque;
use std::time::Instant;

use self::tenancy::{Admission, Tenancy};
use self::work::{Attendant, Coming};

pub(super) use self::call::{Call, CallId, Manner, Side};
pub(super) use self::tenancy::{Bounds, Handle, Look, Ready, TenancyId};
pub(super) use self::work::{Agenda, Kept, Rouse};

/// The calls of one client that wait for one lock, and the node that they share.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Line<C, L> {
    /// In the order of their ids. A call that is gone stays until it is the first, or one of many.
    calls: VecDeque<Call<C>>,
    living: usize,
    next_call: u64,
    kept: Option<Tenancy<L>>,
    next_tenancy: u64,
    coming: Option<Coming>,
    /// Calls that do not wait for others, and that are answered when the contender has left.
    refused: Vec<Call<C>>,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
    attendant: Attendant,
    bounds: Bounds,
    is_closed: bool,
}

/// The reason why a call does not get into the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// The call does not wait for others, and would have to.
    Contended,
    Closed,
}

/// A call that is granted the lock.
#[derive(Debug)]
pub(super) struct Granted<C, L> {
    pub(super) call: Call<C>,
    pub(super) lease: L,
    pub(super) tenancy: TenancyId,
    /// The number of earlier grants under the same node.
    pub(super) handoff: u32,
}

/// The effects of a change of the line.
#[derive(Debug)]
#[must_use = "the grants and the leases belong to others"]
pub(super) struct Served<C, L> {
    pub(super) grants: Vec<Granted<C, L>>,
    /// Leases that the line no longer uses. Each is released once its last holder has given it back.
    pub(super) left: Vec<L>,
}

impl<C, L: Handle> Line<C, L> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            calls: VecDeque::new(),
            living: 0,
            next_call: 0,
            kept: None,
            next_tenancy: 0,
            coming: None,
            refused: Vec::new(),
            deadline: None,
            attendant: Attendant::Absent,
            bounds,
            is_closed: false,
        }
    }

    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    /// Puts a call into the line, at the place of its id.
    pub(super) fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned> {
        if self.is_closed {
            return Err(Turned::Closed);
        }
        if call.manner == Manner::Try && self.is_contended(call.side) {
            return Err(Turned::Contended);
        }
        self.insert(call);
        Ok(self.serve(now))
    }

    /// Returns the number of calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.living
    }

    /// Returns the calls that wait, each with the number of contenders in front: those of other clients, and
    /// calls of this one. The list is empty while the place of this client in the queue is not known.
    pub(super) fn queued(&mut self) -> impl Iterator<Item = (usize, &mut C)> {
        let is_known = self.is_queued();
        let others = self.coming.as_ref().map_or(0, Coming::ahead);
        let holder = usize::from(self.kept.as_ref().is_some_and(|kept| !kept.is_vacant()));
        let callers = self.calls.iter_mut().filter_map(|call| call.caller.as_mut());
        callers
            .enumerate()
            .filter(move |_| is_known)
            .map(move |(nth, caller)| (others + holder + nth, caller))
    }

    /// Removes a call whose caller no longer waits.
    pub(super) fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L> {
        let place = self.calls.partition_point(|call| call.id < id);
        match self.calls.get_mut(place) {
            Some(call) if call.id == id && call.is_alive() => drop(call.take()),
            _ => {
                self.refused.retain(|call| call.id != id);
                return Served::default();
            }
        }
        self.living -= 1;
        if self.calls.len() > 2 * self.living + SPARE {
            self.calls.retain(Call::is_alive);
        }
        self.serve(now)
    }

    /// Returns the lease of this tenancy, while its node is in line.
    pub(super) fn lease(&self, tenancy: TenancyId) -> Option<&L> {
        self.kept.as_ref().filter(|kept| kept.id() == tenancy).map(Tenancy::lease)
    }

    /// Returns whether the node of this tenancy is in line, and nobody holds the lock.
    pub(super) fn is_vacant(&self, tenancy: TenancyId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.id() == tenancy && kept.is_vacant())
    }

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    pub(super) fn is_queued(&self) -> bool {
        self.kept.is_some() || self.coming.as_ref().is_some_and(Coming::is_queued)
    }

    /// Handles the end of a grant. Under a node that is no longer in line, it changes nothing.
    pub(super) fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.give_back(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    fn is_deserted(&self) -> bool {
        self.living == 0 && self.kept.as_ref().is_some_and(Tenancy::is_vacant)
    }

    /// Takes a node out of the line that is lost.
    pub(super) fn lost(&mut self, tenancy: TenancyId) -> Option<L> {
        self.kept_as(tenancy)?;
        self.part()
    }

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    pub(super) fn downgraded(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.downgrade(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    /// Grants the lock to as many calls as the kept node admits.
    pub(super) fn serve(&mut self, now: Instant) -> Served<C, L> {
        let mut served = Served::default();
        // Readers that are let in together count as one grant.
        let mut is_batch = false;
        while let Some(side) = self.first() {
            let Some(kept) = &mut self.kept else { break };
            match kept.admits(side, is_batch, (self.bounds, now)) {
                Admission::Later => break,
                // The task lets other clients' readers in before the node leaves.
                Admission::Never if kept.shuts_readers_out() => break,
                Admission::Never => {
                    served.left.extend(self.part());
                    break;
                }
                Admission::Now => {
                    let begins_batch = kept.is_vacant() && side == Side::Shared;
                    let handoff = kept.grant(side, is_batch, now);
                    is_batch |= begins_batch;
                    let (lease, tenancy) = (kept.lease().clone(), kept.id());
                    let Some(call) = self.calls.pop_front() else { break };
                    self.living -= 1;
                    served.grants.push(Granted { call, lease, tenancy, handoff });
                }
            }
        }
        served
    }

    /// Returns whether a call of this side would have to wait for others.
    fn is_contended(&self, side: Side) -> bool {
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_coming = self.coming.is_some_and(|coming| !coming.is_withdrawn && coming.is_queued());
        // A reader that only the bound keeps out enters with a node of its own.
        let is_held = self.kept.as_ref().is_some_and(|kept| !kept.is_open_to(side));
        self.living > 0 || is_coming || is_held
    }

    fn insert(&mut self, call: Call<C>) {
        self.deadline = self.deadline.into_iter().chain(call.deadline).min();
        let place = self.calls.partition_point(|other| other.id < call.id);
        self.calls.insert(place, call);
        self.living += 1;
    }

    /// Returns the side of the first call that waits, after dropping calls that are gone.
    fn first(&mut self) -> Option<Side> {
        while self.calls.front().is_some_and(|call| !call.is_alive()) {
            self.calls.pop_front();
        }
        self.calls.front().map(|call| call.side)
    }

    fn part(&mut self) -> Option<L> {
        self.kept.take().map(Tenancy::into_lease)
    }

    fn kept_as(&mut self, tenancy: TenancyId) -> Option<&mut Tenancy<L>> {
        self.kept.as_mut().filter(|kept| kept.id() == tenancy)
    }
}

impl<C, L> Default for Served<C, L> {
    fn default() -> Self {
        Self { grants: Vec::new(), left: Vec::new() }
    }
}

/// The number of calls that are gone that a line may always keep.
const SPARE: usize = 16;
