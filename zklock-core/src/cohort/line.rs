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
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;
mod work;

use std::time::Instant;

use crate::client::settings::Queueing;

use super::attendant::Rouse;
use super::call::{Call, CallId, Manner, Side};
use super::rules::{Granted, Rules, Served, Turned};
use super::tenancy::{Admission, Handle, Tenancy, TenancyId};
use super::waiters::Waiters;

use self::work::{Coming, Work};

pub(super) use self::work::{Agenda, Kept};

/// The calls of one client that wait for one lock, and the node that they share.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Line<C, L, D = ()> {
    /// There is no work once the task has ended, and none has begun since.
    waiters: Waiters<C, Work<C, D>>,
    kept: Option<Tenancy<L>>,
    next_tenancy: u64,
    queueing: Queueing,
    is_closed: bool,
}

impl<C, L: Handle, D: Default> Rules<C, L> for Line<C, L, D> {
    fn id(&mut self) -> CallId {
        self.waiters.id()
    }

    fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned> {
        if self.is_closed {
            return Err(Turned::Closed);
        }
        if call.manner == Manner::Try && self.is_contended(call.side) {
            return Err(Turned::Contended);
        }
        self.waiters.insert(call);
        Ok(self.serve(now))
    }

    fn waiting(&self) -> usize {
        self.waiters.len()
    }

    fn queued<'a>(&'a mut self) -> impl Iterator<Item = (usize, &'a mut C)>
    where
        C: 'a,
    {
        let is_known = self.is_queued();
        let others = self.coming().map_or(0, |coming| coming.ahead());
        let holder = usize::from(self.is_held());
        self.waiters
            .callers()
            .enumerate()
            .filter(move |_| is_known)
            .map(move |(nth, caller)| (others + holder + nth, caller))
    }

    fn oldest(&mut self) -> Option<&C> {
        self.waiters.first()?.caller.as_ref()
    }

    fn is_queued(&self) -> bool {
        self.kept.is_some() || self.coming().is_some_and(|coming| coming.is_queued())
    }

    fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L> {
        if !self.waiters.remove(id) {
            if let Some(work) = self.waiters.work_mut() {
                work.refused.retain(|call| call.id != id);
            }
            return Served::default();
        }
        self.serve(now)
    }

    fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.give_back(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    fn released(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        let mut served = self.given_back(tenancy, now);
        // The calls of a client that have passed the lock on often come again in a moment.
        if self.is_deserted() && self.kept_as(tenancy).is_some_and(|kept| kept.has_served_one()) {
            served.left.extend(self.part());
        }
        served
    }

    fn is_kept(&self, tenancy: TenancyId) -> bool {
        self.lease(tenancy).is_some()
    }

    fn is_vacant(&self, tenancy: TenancyId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.id() == tenancy && kept.is_vacant())
    }

    fn downgraded(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.downgrade(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    fn serve(&mut self, now: Instant) -> Served<C, L> {
        let mut served = Served::default();
        // Readers that are let in together count as one grant.
        let mut is_batch = false;
        while let Some(side) = self.first() {
            let Some(kept) = &mut self.kept else { break };
            match kept.admits(side, is_batch, (self.queueing, now)) {
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
                    let Some(call) = self.waiters.pop() else { break };
                    served.grants.push(Granted { call, lease, tenancy, handoff });
                }
            }
        }
        served
    }

    fn expire(&mut self, now: Instant) -> Vec<Call<C>> {
        if self.waiters.is_early(now) {
            return Vec::new();
        }
        let expired = self.waiters.take_out(|call| call.has_expired(now));
        let work = self.waiters.work_mut().into_iter();
        let refused = work.flat_map(|work| work.refused.extract_if(.., |call| call.has_expired(now)));
        expired.into_iter().chain(refused).collect()
    }

    fn rouse(&mut self) -> Rouse {
        if self.has_news() { self.work().attendant.rouse() } else { Rouse::Nobody }
    }

    fn close(&mut self) -> Vec<Call<C>> {
        self.is_closed = true;
        self.drain()
    }

    fn abandon(&mut self) -> (Vec<Call<C>>, Vec<L>) {
        let calls = self.drain();
        self.waiters.rest();
        (calls, self.part().into_iter().collect())
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }
}

impl<C, L: Handle, D: Default> Line<C, L, D> {
    pub(super) fn new(queueing: Queueing) -> Self {
        Self { waiters: Waiters::default(), kept: None, next_tenancy: 0, queueing, is_closed: false }
    }

    /// Returns the lease of this tenancy, while its node is in line.
    pub(super) fn lease(&self, tenancy: TenancyId) -> Option<&L> {
        self.kept.as_ref().filter(|kept| kept.id() == tenancy).map(Tenancy::lease)
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
        self.kept.as_ref().is_some_and(|kept| !kept.is_vacant())
    }

    /// Returns whether calls in line wait for a call of this client that holds the lock, and for no other client.
    pub(super) fn is_behind_own(&self) -> bool {
        self.is_held() && !self.coming().is_some_and(|coming| coming.is_queued())
    }

    fn is_deserted(&self) -> bool {
        self.waiters.is_empty() && self.kept.as_ref().is_some_and(Tenancy::is_vacant)
    }

    /// Takes a node out of the line that is lost.
    pub(super) fn lost(&mut self, tenancy: TenancyId) -> Option<L> {
        self.kept_as(tenancy)?;
        self.part()
    }

    /// Returns whether a call of this side would have to wait for others.
    fn is_contended(&self, side: Side) -> bool {
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_coming = self.coming().is_some_and(|coming| !coming.is_withdrawn && coming.is_queued());
        // A reader that only the bound keeps out enters with a node of its own.
        let is_held = self.kept.as_ref().is_some_and(|kept| !kept.is_open_to(side));
        self.waiters.keep_out(side) || is_coming || is_held
    }

    /// Returns the side of the first call that waits.
    fn first(&mut self) -> Option<Side> {
        self.waiters.first().map(|call| call.side)
    }

    fn part(&mut self) -> Option<L> {
        self.kept.take().map(Tenancy::into_lease)
    }

    fn kept_as(&mut self, tenancy: TenancyId) -> Option<&mut Tenancy<L>> {
        self.kept.as_mut().filter(|kept| kept.id() == tenancy)
    }

    fn drain(&mut self) -> Vec<Call<C>> {
        let calls = self.waiters.drain();
        let refused = self.waiters.work_mut().into_iter().flat_map(|work| work.refused.drain(..));
        calls.into_iter().chain(refused).collect()
    }
}
