//! Decides on the work of a line's task: entering the queue, leaving it, and deadlines.

use std::mem;
use std::time::Instant;

use crate::cohort::call::{Call, Kind, Manner, Side};
use crate::cohort::tenancy::{Admission, Handle, Tenancy, TenancyId};

use super::Line;
use super::work::{Agenda, Attendant, Coming, Entry, Kept, Served, Work, is_before};

impl<C, L: Handle, D: Default> Line<C, L, D> {
    /// Returns the next step of the task, and takes note of it.
    pub(in crate::cohort) fn agenda(&mut self, now: Instant) -> Agenda<L> {
        if self.is_deserted() {
            if !self.is_closed && self.is_newly_vacant() {
                return Agenda::LookAgain;
            }
            let unused = self.part_unused().next();
            if let Some(lease) = unused {
                return Agenda::Leave(lease);
            }
        }
        if self.has_to_let_readers_in(now)
            && let Some(kept) = self.kept.pop()
        {
            return Agenda::Downgrade(kept.into_lease());
        }
        let needed = self.needed();
        let coming = &mut self.work().coming;
        match (&mut *coming, needed) {
            (Some(coming), needed) if !coming.is_withdrawn && needed != Some(coming.entry) => {
                coming.is_withdrawn = true;
                Agenda::Withdraw
            }
            (None, Some(entry)) => {
                *coming = Some(Coming::new(entry));
                Agenda::Enter(entry)
            }
            _ => self.rest(),
        }
    }

    /// Takes note that the kept node was seen vacant. Returns whether a call has held it since it was last seen so.
    fn is_newly_vacant(&mut self) -> bool {
        let present = self.kept.first().map(|kept| (kept.id(), kept.handoffs()));
        mem::replace(&mut self.work().seen_vacant, present) != present
    }

    /// Returns whether the task has something to wait for.
    fn rest(&mut self) -> Agenda<L> {
        let until = self.next_event();
        let watched: Vec<_> = self.leases_to_watch().collect();
        if self.first().is_none() && watched.is_empty() && self.coming().is_none() {
            self.waiters.rest();
            return Agenda::Over;
        }
        self.work().attendant = Attendant::Asleep { until, watched: watched.clone() };
        Agenda::Sleep { until, kept: watched }
    }

    /// Returns the nodes whose leases matter to the line while nothing else happens.
    fn leases_to_watch(&mut self) -> impl Iterator<Item = Kept> {
        let first = self.first();
        let kept = self.kept.iter_mut().filter(move |kept| first.is_some() || kept.shuts_readers_out());
        kept.map(move |kept| {
            let is_open = first.is_some_and(|side| kept.is_open_to(side));
            Kept { tenancy: kept.id(), is_open, has_company: kept.has_company() }
        })
    }

    /// Returns whether the task has something to do that it does not know of.
    pub(super) fn has_news(&mut self) -> bool {
        // Put back below: what it watches has memory of its own.
        let attendant =
            self.waiters.work_mut().map(|work| mem::replace(&mut work.attendant, Attendant::Awake));
        let has_news = match &attendant {
            Some(Attendant::Awake) => false,
            None | Some(Attendant::Absent) => self.is_due(&[]),
            Some(Attendant::Asleep { until, watched }) => {
                self.is_due(watched) || is_before(self.soonest(), *until)
            }
        };
        if let (Some(work), Some(attendant)) = (self.waiters.work_mut(), attendant) {
            work.attendant = attendant;
        }
        has_news
    }

    /// Returns whether the task has to act, or to wait for something else than before.
    fn is_due(&mut self, watched: &[Kept]) -> bool {
        let needed = self.needed();
        self.is_deserted()
            || self.is_stale(watched)
            || match self.coming() {
                Some(coming) => !coming.is_withdrawn && needed != Some(coming.entry),
                None => needed.is_some(),
            }
    }

    /// Returns whether the task watches other leases than it has to, or in another way.
    fn is_stale(&mut self, watched: &[Kept]) -> bool {
        // A task that watches a lease uses it, and must not keep a node that leaves.
        let kept = |watched: &Kept| self.kept.binary_search_by_key(&watched.tenancy, Tenancy::id).is_ok();
        let is_gone = !watched.iter().all(kept);
        let mut to_watch = self.leases_to_watch().peekable();
        is_gone || (to_watch.peek().is_some() && !to_watch.eq(watched.iter().copied()))
    }

    /// Returns the contender that the first call in line needs, if what is kept is of no use to it.
    fn needed(&mut self) -> Option<Entry> {
        let &Call { side, manner, .. } = self.waiters.first()?;
        match self.kind {
            // A contender that has to wait is withdrawn, if no call waits.
            Kind::Lock => {
                let is_needed = self.kept.iter().all(|kept| kept.keeps_out(side));
                is_needed.then_some(Entry { side, manner: Manner::Wait })
            }
            // A call that does not wait asks the servers.
            Kind::Permits { .. } => {
                (manner == Manner::Try || !self.has_all()).then_some(Entry { side, manner })
            }
        }
    }

    /// Takes note of the number of contenders in front, and returns the calls that do not wait for them. Those for permits are
    /// not among them: others at the gate do not tell whether there are permits.
    ///
    /// If no other call uses the contender, it is withdrawn first, and [`ended`](Self::ended) returns them.
    pub(in crate::cohort) fn behind(&mut self, count: usize) -> Vec<Call<C>> {
        let contended = match self.kind {
            Kind::Lock => self.waiters.take_out(|call| call.manner == Manner::Try),
            Kind::Permits { .. } => Vec::new(),
        };
        let is_waited_for = !self.waiters.is_empty();
        let Work { coming, refused, .. } = self.work();
        if let Some(coming) = coming {
            coming.ahead = Some(count);
        }
        refused.extend(contended);
        // A call that waits came meanwhile, and keeps the contender.
        if is_waited_for { mem::take(refused) } else { Vec::new() }
    }

    /// Takes note that the contender has no place in the queue, because the session ended.
    pub(in crate::cohort) fn restarted(&mut self) {
        if let Some(coming) = &mut self.work().coming {
            coming.ahead = None;
        }
    }

    /// Takes over a node that has come to the head of its queue.
    pub(in crate::cohort) fn headed(&mut self, lease: L, now: Instant) -> Served<C, L> {
        let side = self.work().coming.take().map_or(Side::Exclusive, |coming| coming.entry.side);
        // The lock came free while a vain contender was being withdrawn.
        for call in mem::take(&mut self.work().refused) {
            self.waiters.insert(call);
        }
        self.next_tenancy += 1;
        // The node before is gone, or this one would not be at the head.
        let before = match self.kind {
            Kind::Lock => mem::take(&mut self.kept),
            Kind::Permits { .. } => Vec::new(),
        };
        self.kept.push(Tenancy::new(TenancyId(self.next_tenancy), (lease, self.kind), side, now));
        let mut served = self.serve(now);
        served.left.extend(before.into_iter().map(Tenancy::into_lease));
        served
    }

    /// Takes note that the contender has left, and returns the calls that did not wait for others.
    pub(in crate::cohort) fn ended(&mut self) -> Vec<Call<C>> {
        self.work().coming = None;
        mem::take(&mut self.work().refused)
    }

    /// Takes note that the contender has found others in the way, and returns the calls that did not wait for them.
    pub(in crate::cohort) fn contended(&mut self) -> Vec<Call<C>> {
        self.work().coming = None;
        self.waiters.take_out(|call| call.manner == Manner::Try)
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
        let is_closed = self.kept.first_mut().filter(|kept| kept.shuts_readers_out()).is_some_and(|kept| {
            first == Some(Side::Shared) && kept.admits(Side::Shared, false, limits) == Admission::Never
        });
        is_closed || self.shuts_out_until().is_some_and(|until| until <= now)
    }

    /// Returns the instant at which local readers have to let other clients' readers in, if that is bounded.
    fn shuts_out_until(&mut self) -> Option<Instant> {
        let queueing = self.queueing;
        self.kept.first_mut().and_then(|kept| kept.shuts_out_until(queueing))
    }
}
