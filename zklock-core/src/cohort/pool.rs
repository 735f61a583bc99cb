//! The pool of one client's permits of one semaphore, and of the calls that want one each, as a pure state machine.
//!
//! A permit that is given back goes to the first call in line without a request, as long as its node admits it.
//! The permits that the client holds keep no call from contending, because the servers may have more. So up to
//! [`MOST`] calls have a contender under way, and each permit that comes in goes to the first call in line.
//!
//! ```text
//!                     headed            admitted
//!  contenders ──────────────────► held ◄───────── parked
//!      ▲                           │  given back      ▲  │ never again, or nobody waits
//!      │                           └──────────────────┘  ▼
//!      └── a call waits                            the node leaves
//! ```
//!
//! Others wait at the gate of the semaphore, which its holders do not see. So a permit always has company, and the
//! bounds of a turn hold from its first grant on.
//!
//! # Invariants
//!
//! 1. The module has no clock, task or I/O, as [`line`](mod@super::line) has none.
//! 2. A call is in line, granted, answered or gone: exactly one of them. Calls are granted in the order of their ids.
//! 3. No permit is kept while nobody holds it and no call waits.

mod agenda;
mod contenders;
mod permit;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem;
use std::time::Instant;

use crate::client::settings::Queueing;

use super::attendant::{Attendant, Rouse};
use super::call::{Call, CallId, Side};
use super::rules::{Granted, Rules, Served, Turned};
use super::tenancy::{Admission, Handle, Tenancy, TenancyId};
use super::waiters::Waiters;

use self::contenders::Contenders;
use self::permit::Permit;

pub(super) use self::agenda::Agenda;
pub(super) use self::contenders::{ContenderId, MOST};

/// The permits of one client at one semaphore, and the calls that wait for one.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Pool<C, L, D = ()> {
    waiters: Waiters<C, D>,
    /// The permits that calls hold.
    held: BTreeMap<TenancyId, Tenancy<Permit<L>>>,
    /// The permits that calls wait for until it is known whether they can be passed on.
    parked: Vec<Tenancy<Permit<L>>>,
    next_tenancy: u64,
    contenders: Contenders,
    attendant: Attendant<Vec<TenancyId>>,
    queueing: Queueing,
    is_closed: bool,
}

impl<C, L: Handle, D: Default> Rules<C, L> for Pool<C, L, D> {
    fn id(&mut self) -> CallId {
        self.waiters.id()
    }

    fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned> {
        if self.is_closed {
            return Err(Turned::Closed);
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
        let others = self.contenders.ahead().unwrap_or(0);
        let callers = self.waiters.callers().enumerate();
        callers.filter(move |_| is_known).map(move |(nth, caller)| (others + nth, caller))
    }

    fn oldest(&mut self) -> Option<&C> {
        self.waiters.first()?.caller.as_ref()
    }

    fn is_queued(&self) -> bool {
        !self.parked.is_empty() || self.contenders.ahead().is_some()
    }

    fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L> {
        if !self.waiters.remove(id) {
            return Served::default();
        }
        self.contenders.let_spare_go(self.waiters.len());
        self.serve(now)
    }

    fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        let Some(mut permit) = self.held.remove(&tenancy) else { return Served::default() };
        permit.give_back();
        self.parked.push(permit);
        let served = self.serve(now);
        // No contender of this client is to be in the way of others when the permit is free.
        if served.grants.is_empty() {
            self.contenders.let_spare_go(self.waiters.len());
        }
        served
    }

    fn released(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        // No permit is kept that no call waits for.
        self.given_back(tenancy, now)
    }

    fn is_kept(&self, tenancy: TenancyId) -> bool {
        self.lease(tenancy).is_some()
    }

    fn is_vacant(&self, tenancy: TenancyId) -> bool {
        self.parked.iter().any(|permit| permit.id() == tenancy)
    }

    /// Has no effect: nobody reads under a permit.
    fn downgraded(&mut self, _: TenancyId, _: Instant) -> Served<C, L> {
        Served::default()
    }

    fn serve(&mut self, now: Instant) -> Served<C, L> {
        self.note_need(now);
        let mut served = Served::default();
        for mut permit in mem::take(&mut self.parked) {
            let admission = match self.waiters.is_empty() {
                true => Admission::Never,
                false => permit.admits(Side::Exclusive, false, (self.queueing, now)),
            };
            match admission {
                Admission::Later => self.parked.push(permit),
                Admission::Never => served.left.push(permit.into_lease().into_lease()),
                Admission::Now => served.grants.extend(self.grant(permit, now)),
            }
        }
        if self.waiters.is_empty() {
            let unused = mem::take(&mut self.parked).into_iter();
            served.left.extend(unused.map(|permit| permit.into_lease().into_lease()));
        }
        served
    }

    fn expire(&mut self, now: Instant) -> Vec<Call<C>> {
        if self.waiters.is_early(now) {
            return Vec::new();
        }
        let expired = self.waiters.take_out(|call| call.has_expired(now));
        self.contenders.let_spare_go(self.waiters.len());
        expired
    }

    fn rouse(&mut self) -> Rouse {
        if !self.has_news() {
            return Rouse::Nobody;
        }
        self.waiters.begin_work();
        self.attendant.rouse()
    }

    fn close(&mut self) -> Vec<Call<C>> {
        self.is_closed = true;
        self.drain()
    }

    fn abandon(&mut self) -> (Vec<Call<C>>, Vec<L>) {
        self.attendant = Attendant::Absent;
        self.contenders.clear();
        let permits = mem::take(&mut self.held).into_values().chain(mem::take(&mut self.parked));
        let leases = permits.map(|permit| permit.into_lease().into_lease()).collect();
        let calls = self.drain();
        self.waiters.rest();
        (calls, leases)
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }
}

impl<C, L: Handle, D: Default> Pool<C, L, D> {
    /// A pool that has at most this many contenders under way.
    pub(super) fn new(queueing: Queueing, most: usize) -> Self {
        Self {
            waiters: Waiters::default(),
            held: BTreeMap::new(),
            parked: Vec::new(),
            next_tenancy: 0,
            contenders: Contenders::new(most),
            attendant: Attendant::Absent,
            queueing,
            is_closed: false,
        }
    }

    /// Returns the desk of the task, unless there is no task.
    pub(super) fn desk_mut(&mut self) -> Option<&mut D> {
        self.waiters.work_mut()
    }

    /// Returns the number of permits that calls of this client hold.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the lease of this tenancy, while its permit can go to another call.
    pub(super) fn lease(&self, tenancy: TenancyId) -> Option<&L> {
        let parked = || self.parked.iter().find(|permit| permit.id() == tenancy);
        self.held.get(&tenancy).or_else(parked).map(|permit| permit.lease().lease())
    }

    /// Takes over a permit that a contender has got.
    pub(super) fn headed(&mut self, contender: ContenderId, lease: L, now: Instant) -> Served<C, L> {
        self.note_need(now);
        self.contenders.remove(contender);
        self.next_tenancy += 1;
        let permit = Permit::new(lease, now);
        self.parked.push(Tenancy::new(TenancyId(self.next_tenancy), permit, Side::Exclusive, now));
        self.serve(now)
    }

    /// Takes note that a contender has left.
    pub(super) fn ended(&mut self, contender: ContenderId) {
        self.contenders.remove(contender);
    }

    /// Takes note that a contender was refused, and returns the calls that fail with it.
    ///
    /// Those are all that wait, unless the contender was being withdrawn: later calls have contenders of their own,
    /// which are refused too if the reason lasts.
    pub(super) fn refused(&mut self, contender: ContenderId) -> Vec<Call<C>> {
        let was_needed = self.contenders.is_needed(contender);
        self.contenders.remove(contender);
        if was_needed { self.drain() } else { Vec::new() }
    }

    /// Returns whether a contender is under way although no call waits.
    pub(super) fn has_spare(&self) -> bool {
        self.waiters.is_empty() && !self.contenders.is_empty()
    }

    /// Takes note of the number of contenders in front; `None` while it is not known, because the session ended.
    pub(super) fn behind(&mut self, contender: ContenderId, count: Option<usize>) {
        self.contenders.note(contender, count);
    }

    /// Grants a permit to the first call that waits.
    fn grant(&mut self, mut permit: Tenancy<Permit<L>>, now: Instant) -> Option<Granted<C, L>> {
        let call = self.waiters.pop()?;
        let (lease, tenancy) = (permit.lease().lease().clone(), permit.id());
        let handoff = permit.grant(Side::Exclusive, false, now);
        self.held.insert(tenancy, permit);
        Some(Granted { call, lease, tenancy, handoff })
    }

    fn drain(&mut self) -> Vec<Call<C>> {
        self.contenders.let_spare_go(0);
        self.waiters.drain()
    }

    fn note_need(&mut self, now: Instant) {
        self.contenders.note_need(self.waiters.len(), now);
    }
}
