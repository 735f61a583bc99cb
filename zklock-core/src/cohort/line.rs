//! The line of one client's calls for one lock, or for permits of one semaphore, as a pure state machine.
//!
//! The client has at most one node of a lock that its calls share, which is *kept*, and one that contends, which is
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
//! The calls for permits wait in a line of their own for each number of permits. It keeps several sets of permits, which
//! are passed on as nodes are. One contender is under way as long as a call waits and the servers may have another set for
//! this client. No set is kept that nobody holds and no call waits for. Others wait at the gate of the semaphore, which the
//! holders do not see, so that the bounds of a turn hold from its first grant on.
//!
//! # Invariants
//!
//! 1. The module has no clock, task or I/O. The time comes in with each event, and a [`Handle`] tells the
//!    state of a lease. Every interleaving can therefore be simulated.
//! 2. A call is in line, granted, answered or gone: exactly one of them.
//! 3. Calls are granted in the order of their ids, except that readers join readers.

mod agenda;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;
mod work;

use std::mem;
use std::time::Instant;

use crate::client::settings::Queueing;

use super::call::{Call, CallId, Kind, Manner, Side};
use super::tenancy::{Admission, Handle, Tenancy, TenancyId};
use super::waiters::Waiters;

use self::work::{Coming, Work};

pub(super) use self::work::{Agenda, Entry, Granted, Kept, Rouse, Served, Turned};

/// The calls of one client that wait for one lock or semaphore, and what they share of it.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Line<C, L, D = ()> {
    /// There is no work once the task has ended, and none has begun since.
    waiters: Waiters<C, Work<C, D>>,
    /// In the order in which they came. A lock has at most one.
    kept: Vec<Tenancy<L>>,
    kind: Kind,
    next_tenancy: u64,
    queueing: Queueing,
    is_closed: bool,
}

impl<C, L: Handle, D: Default> Line<C, L, D> {
    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.waiters.id()
    }

    /// Puts a call into the line, at the place of its id.
    pub(super) fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned> {
        if self.is_closed {
            return Err(Turned::Closed);
        }
        if call.manner == Manner::Try && self.is_contended(call.side) {
            return Err(Turned::Contended);
        }
        self.waiters.insert(call);
        Ok(self.serve(now))
    }

    /// Returns the number of calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Returns the calls that wait, each with the number of contenders in front: those of other clients, and
    /// calls of this one. The list is empty while the place of this client in the queue is not known.
    pub(super) fn queued<'a>(&'a mut self) -> impl Iterator<Item = (usize, &'a mut C)>
    where
        C: 'a,
    {
        let is_known = self.is_queued();
        let others = self.coming().map_or(0, |coming| coming.ahead());
        let own = match self.kind {
            Kind::Lock => usize::from(self.is_held()),
            // A contender stands behind the permits of its client.
            Kind::Permits { .. } if self.has_all() => self.kept.len(),
            Kind::Permits { .. } => 0,
        };
        self.waiters
            .callers()
            .enumerate()
            .filter(move |_| is_known)
            .map(move |(nth, caller)| (others + own + nth, caller))
    }

    /// Returns the call that has waited for the longest time.
    pub(super) fn oldest(&mut self) -> Option<&C> {
        self.waiters.first()?.caller.as_ref()
    }

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    pub(super) fn is_queued(&self) -> bool {
        let is_behind_own = match self.kind {
            Kind::Lock => !self.kept.is_empty(),
            Kind::Permits { .. } => self.has_all() || self.kept.iter().any(Tenancy::is_vacant),
        };
        is_behind_own || self.coming().is_some_and(|coming| coming.is_queued())
    }

    /// Removes a call whose caller no longer waits.
    pub(super) fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L> {
        if !self.waiters.remove(id) {
            if let Some(work) = self.waiters.work_mut() {
                work.refused.retain(|call| call.id != id);
            }
            return Served::default();
        }
        self.serve(now)
    }

    /// Handles the end of a grant. Under a node that is no longer kept, it changes nothing.
    pub(super) fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.give_back(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    /// Handles the end of a grant whose holder waits for the release. If no call waits, and the node has had no other
    /// holder, it leaves at once, so that no task has to come for it.
    pub(super) fn released(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        let mut served = self.given_back(tenancy, now);
        // The calls of a client that have passed the lock on often come again in a moment.
        if self.is_deserted() && self.kept_as(tenancy).is_some_and(|kept| kept.has_served_one()) {
            served.left.extend(self.part_unused());
        }
        served
    }

    /// Returns whether the node of this tenancy can go to another call.
    pub(super) fn is_kept(&self, tenancy: TenancyId) -> bool {
        self.lease(tenancy).is_some()
    }

    /// Returns whether readers hold the lock under the node of this tenancy.
    pub(super) fn is_read(&self, tenancy: TenancyId) -> bool {
        self.kept.iter().any(|kept| kept.id() == tenancy && kept.is_read())
    }

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    pub(super) fn downgraded(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.downgrade(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    /// Grants the nodes to as many calls as they admit.
    pub(super) fn serve(&mut self, now: Instant) -> Served<C, L> {
        let mut served = Served::default();
        // Readers that are let in together count as one grant.
        let mut is_batch = false;
        let mut index = 0;
        while let (Some(side), Some(kept)) = (self.first(), self.kept.get_mut(index)) {
            match kept.admits(side, is_batch, (self.queueing, now)) {
                Admission::Later => index += 1,
                // The task lets other clients' readers in before the node leaves.
                Admission::Never if kept.shuts_readers_out() => index += 1,
                Admission::Never => served.left.push(self.kept.remove(index).into_lease()),
                Admission::Now => {
                    let begins_batch = kept.is_vacant() && side == Side::Shared;
                    let handoff = kept.grant(side, is_batch, now);
                    is_batch |= begins_batch;
                    let (lease, tenancy) = (kept.lease().clone(), kept.id());
                    let Some(call) = self.waiters.pop() else { break };
                    served.grants.push(Granted { call, lease, tenancy, handoff });
                }
            }
        }
        if self.kind != Kind::Lock && self.waiters.is_empty() {
            served.left.extend(self.part_unused());
        }
        served
    }

    /// Removes the calls whose deadlines have passed, and returns them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Call<C>> {
        if self.waiters.is_early(now) {
            return Vec::new();
        }
        let expired = self.waiters.take_out(|call| call.has_expired(now));
        let work = self.waiters.work_mut().into_iter();
        let refused = work.flat_map(|work| work.refused.extract_if(.., |call| call.has_expired(now)));
        expired.into_iter().chain(refused).collect()
    }

    /// Tells whether the task has something to do after a change, and takes note that it is woken.
    pub(super) fn rouse(&mut self) -> Rouse {
        if self.has_news() { self.work().attendant.rouse() } else { Rouse::Nobody }
    }

    /// Refuses all calls from now on, and returns those that wait.
    pub(super) fn close(&mut self) -> Vec<Call<C>> {
        self.is_closed = true;
        self.drain()
    }

    /// Takes note that there is no task any more, so that a later call starts another one. Returns the calls that wait, and the
    /// leases.
    ///
    /// Holders that give their locks back later find no kept node, so that the last of them releases it.
    pub(super) fn abandon(&mut self) -> (Vec<Call<C>>, Vec<L>) {
        let calls = self.drain();
        self.waiters.rest();
        (calls, mem::take(&mut self.kept).into_iter().map(Tenancy::into_lease).collect())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

impl<C, L: Handle, D: Default> Line<C, L, D> {
    pub(super) fn new(queueing: Queueing, kind: Kind) -> Self {
        let (waiters, kept) = (Waiters::default(), Vec::new());
        Self { waiters, kept, kind, next_tenancy: 0, queueing, is_closed: false }
    }

    /// Returns the lease of this tenancy, while its node is in line.
    pub(super) fn lease(&self, tenancy: TenancyId) -> Option<&L> {
        self.kept.iter().find(|kept| kept.id() == tenancy).map(Tenancy::lease)
    }

    /// Returns the node that contends, if there is one.
    fn coming(&self) -> Option<Coming> {
        self.waiters.work()?.coming
    }

    /// Returns the desk of the task, unless there is no task.
    pub(super) fn desk_mut(&mut self) -> Option<&mut D> {
        self.waiters.work_mut().map(|work| &mut work.desk)
    }

    /// Returns the state that a line has with its task.
    fn work(&mut self) -> &mut Work<C, D> {
        self.waiters.begin_work()
    }

    /// Returns whether a call of this client holds the lock under the kept node.
    fn is_held(&self) -> bool {
        self.kept.iter().any(|kept| !kept.is_vacant())
    }

    /// Returns whether this client has as many permits as it can have.
    fn has_all(&self) -> bool {
        matches!(self.kind, Kind::Permits { most: Some(most), .. } if self.kept.len() >= most)
    }

    /// Returns whether calls in line wait for calls of this client that hold the lock, and for no other client.
    pub(super) fn is_behind_own(&self) -> bool {
        match self.kind {
            Kind::Lock => self.is_held() && !self.coming().is_some_and(|coming| coming.is_queued()),
            Kind::Permits { .. } => self.has_all(),
        }
    }

    fn is_deserted(&self) -> bool {
        self.waiters.is_empty() && self.kept.iter().any(Tenancy::is_vacant)
    }

    /// Takes a node out of the line that is lost.
    pub(super) fn lost(&mut self, tenancy: TenancyId) -> Option<L> {
        let index = self.kept.iter().position(|kept| kept.id() == tenancy)?;
        Some(self.kept.remove(index).into_lease())
    }

    /// Returns whether a call of this side would have to wait for others.
    fn is_contended(&self, side: Side) -> bool {
        if self.kind != Kind::Lock {
            // The permits that the client holds do not tell whether the servers have another one.
            return self.waiters.have_patience();
        }
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_coming = self.coming().is_some_and(|coming| !coming.is_withdrawn && coming.is_queued());
        // A reader that only the bound keeps out enters with a node of its own.
        let is_held = self.kept.iter().any(|kept| !kept.is_open_to(side));
        self.waiters.keep_out(side) || is_coming || is_held
    }

    /// Returns the side of the first call that waits.
    fn first(&mut self) -> Option<Side> {
        self.waiters.first().map(|call| call.side)
    }

    /// Takes those out that nobody holds.
    fn part_unused(&mut self) -> impl Iterator<Item = L> {
        self.kept.extract_if(.., |kept| kept.is_vacant()).map(Tenancy::into_lease)
    }

    fn kept_as(&mut self, tenancy: TenancyId) -> Option<&mut Tenancy<L>> {
        self.kept.iter_mut().find(|kept| kept.id() == tenancy)
    }

    fn drain(&mut self) -> Vec<Call<C>> {
        let calls = self.waiters.drain();
        let refused = self.waiters.work_mut().into_iter().flat_map(|work| work.refused.drain(..));
        calls.into_iter().chain(refused).collect()
    }
}
