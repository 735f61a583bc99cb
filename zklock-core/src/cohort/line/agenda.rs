//! Decides on the work of a line's task: entering the queue, leaving it, and deadlines.

use std::time::Instant;

use crate::cohort::attendant::{Attendant, is_before};
use crate::cohort::call::{Call, Manner, Side};
use crate::cohort::rules::{Rules, Served};
use crate::cohort::tenancy::{Admission, Handle, Tenancy, TenancyId};

use super::Line;
use super::work::{Agenda, Coming, Kept, Work};

impl<C, L: Handle, D: Default> Line<C, L, D> {
    /// Returns the next step of the task, and takes note of it.
    pub(in crate::cohort) fn agenda(&mut self, now: Instant) -> Agenda<L> {
        if self.is_deserted() {
            if !self.is_closed && self.is_newly_vacant() {
                return Agenda::LookAgain;
            }
            if let Some(lease) = self.part() {
                return Agenda::Leave(lease);
            }
        }
        if self.has_to_let_readers_in(now)
            && let Some(lease) = self.part()
        {
            return Agenda::Downgrade(lease);
        }
        let needed = self.needed();
        let coming = &mut self.work().coming;
        match (&mut *coming, needed) {
            (Some(coming), needed) if !coming.is_withdrawn && needed != Some(coming.side) => {
                coming.is_withdrawn = true;
                Agenda::Withdraw
            }
            (None, Some(side)) => {
                *coming = Some(Coming::new(side));
                Agenda::Enter(side)
            }
            _ => self.rest(),
        }
    }

    /// Takes note that the kept node was seen vacant. Returns whether a call has held it since it was last seen so.
    fn is_newly_vacant(&mut self) -> bool {
        let present = self.kept.as_ref().map(|kept| (kept.id(), kept.handoffs()));
        std::mem::replace(&mut self.work().seen_vacant, present) != present
    }

    /// Returns whether the task has something to wait for.
    fn rest(&mut self) -> Agenda<L> {
        let until = self.next_event();
        let watched = self.lease_to_watch();
        if self.first().is_none() && watched.is_none() && self.coming().is_none() {
            self.waiters.rest();
            return Agenda::Over;
        }
        self.work().attendant = Attendant::Asleep { until, watched };
        Agenda::Sleep { until, kept: watched }
    }

    /// Returns the node whose lease matters to the line while nothing else happens.
    fn lease_to_watch(&mut self) -> Option<Kept> {
        let first = self.first();
        let kept = self.kept.as_mut().filter(|kept| first.is_some() || kept.shuts_readers_out())?;
        let is_open = first.is_some_and(|side| kept.is_open_to(side));
        Some(Kept { tenancy: kept.id(), is_open, has_company: kept.has_company() })
    }

    /// Returns whether the task has something to do that it does not know of.
    pub(super) fn has_news(&mut self) -> bool {
        match self.waiters.work().map_or(Attendant::Absent, |work| work.attendant) {
            Attendant::Awake => false,
            Attendant::Absent => self.is_due(None),
            Attendant::Asleep { until, watched } => self.is_due(watched) || is_before(self.soonest(), until),
        }
    }

    /// Returns whether the task has to act, or to wait for something else than before.
    fn is_due(&mut self, watched: Option<Kept>) -> bool {
        // A task that watches a lease uses it, and must not keep a node that leaves.
        let kept = self.kept.as_ref().map(Tenancy::id);
        let is_stale = watched.is_some_and(|watched| kept != Some(watched.tenancy));
        let to_watch = self.lease_to_watch();
        let needed = self.needed();
        self.is_deserted()
            || is_stale
            || (to_watch.is_some() && to_watch != watched)
            || match self.coming() {
                Some(coming) => !coming.is_withdrawn && needed != Some(coming.side),
                None => needed.is_some(),
            }
    }

    /// Returns the side of the node that the first call in line needs, if the kept node is of no use to it.
    fn needed(&mut self) -> Option<Side> {
        let first = self.first()?;
        let is_served = self.kept.as_ref().is_some_and(|kept| !kept.keeps_out(first));
        (!is_served).then_some(first)
    }

    /// Takes note of the number of contenders in front, and returns the calls that do not wait for them.
    ///
    /// If no other call uses the contender, it is withdrawn first, and [`ended`](Self::ended) returns them.
    pub(in crate::cohort) fn behind(&mut self, count: usize) -> Vec<Call<C>> {
        let contended = self.waiters.take_out(|call| call.manner == Manner::Try);
        let is_waited_for = !self.waiters.is_empty();
        let Work { coming, refused, .. } = self.work();
        if let Some(coming) = coming {
            coming.ahead = Some(count);
        }
        refused.extend(contended);
        // A call that waits came meanwhile, and keeps the contender.
        if is_waited_for { std::mem::take(refused) } else { Vec::new() }
    }

    /// Takes note that the contender has no place in the queue, because the session ended.
    pub(in crate::cohort) fn restarted(&mut self) {
        if let Some(coming) = &mut self.work().coming {
            coming.ahead = None;
        }
    }

    /// Takes over a node that has come to the head of its queue.
    pub(in crate::cohort) fn headed(&mut self, lease: L, now: Instant) -> Served<C, L> {
        let side = self.work().coming.take().map_or(Side::Exclusive, |coming| coming.side);
        // The lock came free while a vain contender was being withdrawn.
        for call in std::mem::take(&mut self.work().refused) {
            self.waiters.insert(call);
        }
        self.next_tenancy += 1;
        let tenancy = Tenancy::new(TenancyId(self.next_tenancy), lease, side, now);
        // The node before is gone, or this one would not be at the head.
        let before = self.kept.replace(tenancy).map(Tenancy::into_lease);
        let mut served = self.serve(now);
        served.left.extend(before);
        served
    }

    /// Takes note that the contender has left, and returns the calls that did not wait for others.
    pub(in crate::cohort) fn ended(&mut self) -> Vec<Call<C>> {
        self.work().coming = None;
        std::mem::take(&mut self.work().refused)
    }

    /// Takes note that the contender was refused, and returns all calls that wait.
    pub(in crate::cohort) fn refused(&mut self) -> Vec<Call<C>> {
        self.work().coming = None;
        self.drain()
    }

    /// Returns the instant of the next deadline or bound.
    fn next_event(&mut self) -> Option<Instant> {
        let refused = self.waiters.work().into_iter().flat_map(|work| &work.refused);
        let others = refused.filter_map(|call| call.deadline).min();
        self.waiters.find_deadline(others);
        self.soonest()
    }

    /// Returns an instant that is not later than the next deadline or bound.
    fn soonest(&mut self) -> Option<Instant> {
        self.waiters.deadline().into_iter().chain(self.shuts_out_until()).min()
    }

    /// Returns whether local readers no longer may keep other clients' readers out. The first call in line is
    /// such a reader where the node does not admit it.
    fn has_to_let_readers_in(&mut self, now: Instant) -> bool {
        let (first, limits) = (self.first(), (self.queueing, now));
        let is_closed = self.kept.as_mut().filter(|kept| kept.shuts_readers_out()).is_some_and(|kept| {
            first == Some(Side::Shared) && kept.admits(Side::Shared, false, limits) == Admission::Never
        });
        is_closed || self.shuts_out_until().is_some_and(|until| until <= now)
    }

    /// Returns the instant at which local readers have to let other clients' readers in, if that is bounded.
    fn shuts_out_until(&mut self) -> Option<Instant> {
        let queueing = self.queueing;
        self.kept.as_mut().and_then(|kept| kept.shuts_out_until(queueing))
    }
}
