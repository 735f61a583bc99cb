//! The calls of one client for one lock, or for permits of one semaphore, as a pure state machine.
//!
//! The client *holds* at most one node of a lock, which its calls share, and has at most one *contender* under way. A lock that
//! is given back goes to the first call in line without a request, as long as the held node admits it:
//!
//! ```text
//!                headed               admitted
//!  contender ───────────► held, in use ◄───────── held, vacant
//!    ▲                     │  given back          ▲  │ never again, or nobody waits
//!    │                     └──────────────────────┘  ▼
//!    └────────────── a call waits ◄───────────── the node leaves
//! ```
//!
//! A node that leaves is withdrawn beside the queue, which goes on as if it had no node. A mutex is a queue in which all
//! calls are exclusive.
//!
//! The calls for permits wait in a queue of their own for each number of permits. It holds several sets of permits, which are
//! passed on as nodes are. One contender is under way as long as a call waits and the servers may have another set for this
//! client. No set is kept that nobody uses and no call waits for. Others wait at the gate of the semaphore, which the holders
//! do not see, so that the bounds of a turn hold from its first grant on.
//!
//! # Invariants
//!
//! 1. The module has no clock, task or I/O. The time comes in with each event, and a [`Handle`] tells the state of a lease.
//!    Every interleaving can therefore be simulated.
//! 2. A call is in line, granted, answered or gone: exactly one of them.
//! 3. Calls are granted in the order of their ids, except that readers join readers.
//! 4. The work of the task follows from the state alone: from [`State::need`], and from the nodes that leave. A change
//!    wakes the task only if that is something else than what it sleeps for.

use std::collections::BTreeMap;
use std::mem;
use std::time::Instant;

use crate::client::settings::Queueing;
use crate::deadline::Contention;

use super::held::{Admission, Handle, HeldNode, Kind, Mode, NodeId, Watched};

/// The identity of a call, and its place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId(pub(super) u64);

/// One call in line.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Call<C> {
    pub(super) id: CallId,
    pub(super) mode: Mode,
    pub(super) contention: Contention,
    /// `None` waits forever.
    pub(super) deadline: Option<Instant>,
    pub(super) caller: C,
}

/// A contender to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) mode: Mode,
    pub(super) contention: Contention,
}

/// The contender of this client that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Contender {
    entry: Entry,
    /// The last call that had come when it entered.
    newest: CallId,
    /// The number of contenders in front; `None` while that is not known.
    pub(super) ahead: Option<usize>,
    pub(super) is_withdrawn: bool,
}

/// What the task of a queue has to do, or to wait for.
#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) enum Need<L> {
    /// Give up these nodes before anything else, so that this client is not behind itself.
    GiveUp(Vec<HeldNode<L>>),
    /// Contend for the lock, or for permits.
    Contend(Entry),
    /// Withdraw the contender, because no call in line can use it.
    Withdraw,
    /// Release a node that nobody uses, unless a call comes for it in a moment. It has had this many grants.
    Leave(NodeId, u32),
    /// Let other clients' readers in beside the readers that hold this node.
    Downgrade(NodeId),
    /// Wait for a change of the calls, of the contender, or of these nodes, and for this instant, if there is one.
    Wait(Vec<Watched>, Option<Instant>),
    /// Nothing is left to do, and the task ends.
    Nothing,
}

/// Whether a task does the work of a queue.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
enum Task {
    Absent,
    /// The task sleeps until this instant, until the nodes that it watches change, or until it is woken.
    Asleep {
        until: Option<Instant>,
        watched: Vec<Watched>,
    },
    Awake,
}

/// The task to wake after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Nobody,
    Task,
    /// There is no task. The caller has to start one.
    NewTask,
}

/// The reason why a call does not get into the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The call does not wait for others, and would have to.
    Contended,
    Closed,
}

/// A call that is granted the lock.
#[derive(Debug)]
pub(super) struct Granted<C, L> {
    pub(super) call: Call<C>,
    pub(super) claim: L,
    pub(super) node: NodeId,
    /// The number of earlier grants under the same node.
    pub(super) handoff: u32,
}

/// The calls of one client that wait for one lock or semaphore, and what they share of it.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct State<C, L> {
    kind: Kind,
    queueing: Queueing,
    last_call: u64,
    waiting: BTreeMap<CallId, Call<C>>,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
    pub(super) last_node: u64,
    /// In the order in which they came. A lock has at most one.
    pub(super) held: Vec<HeldNode<L>>,
    /// Nodes that are no longer kept. The lease of each is released once its last holder has given it back.
    pub(super) left: Vec<HeldNode<L>>,
    pub(super) contender: Option<Contender>,
    task: Task,
    is_closed: bool,
}

/// What calls do.
impl<C, L: Handle> State<C, L> {
    pub(super) fn new(queueing: Queueing, kind: Kind) -> Self {
        Self {
            kind,
            queueing,
            last_call: 0,
            waiting: BTreeMap::new(),
            deadline: None,
            last_node: 0,
            held: Vec::new(),
            left: Vec::new(),
            contender: None,
            task: Task::Absent,
            is_closed: false,
        }
    }

    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    /// Puts a call into the line, at the place of its id.
    pub(super) fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Vec<Granted<C, L>>, Rejected> {
        if self.is_closed {
            return Err(Rejected::Closed);
        }
        if call.contention == Contention::Leave && self.is_contended(call.mode) {
            return Err(Rejected::Contended);
        }
        self.deadline = self.deadline.into_iter().chain(call.deadline).min();
        self.waiting.insert(call.id, call);
        Ok(self.serve(now))
    }

    /// Removes a call whose caller no longer waits.
    pub(super) fn gone(&mut self, id: CallId, now: Instant) -> Vec<Granted<C, L>> {
        match self.waiting.remove(&id) {
            Some(_) => self.serve(now),
            None => Vec::new(),
        }
    }

    /// Handles the end of a grant. It changes nothing under a node whose lease was given up.
    pub(super) fn given_back(&mut self, node: NodeId, now: Instant) -> Vec<Granted<C, L>> {
        self.change_held(node, now, HeldNode::give_back)
    }

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    pub(super) fn downgraded(&mut self, node: NodeId, now: Instant) -> Vec<Granted<C, L>> {
        self.change_held(node, now, HeldNode::downgrade)
    }

    fn change_held(
        &mut self,
        node: NodeId,
        now: Instant,
        change: fn(&mut HeldNode<L>),
    ) -> Vec<Granted<C, L>> {
        let Some(held) = self.held.iter_mut().chain(&mut self.left).find(|held| held.id == node) else {
            return Vec::new();
        };
        change(held);
        self.serve(now)
    }

    /// Grants the nodes to as many calls as they admit.
    pub(super) fn serve(&mut self, now: Instant) -> Vec<Granted<C, L>> {
        let mut grants = Vec::new();
        // Readers that are let in together count as one grant.
        let mut is_batch = false;
        let mut index = 0;
        while let (Some(mode), Some(held)) = (self.first().map(|call| call.mode), self.held.get_mut(index)) {
            match held.admits(mode, is_batch, (self.queueing, now)) {
                Admission::Later => index += 1,
                // The task lets other clients' readers in before the node leaves.
                Admission::Never if held.shuts_readers_out() => index += 1,
                Admission::Never => self.left.push(self.held.remove(index)),
                Admission::Now(counted) => {
                    let Some((_, call)) = self.waiting.pop_first() else { break };
                    let begins_batch = held.is_vacant() && mode == Mode::Shared;
                    let handoff = held.grant(mode, counted, now);
                    is_batch |= begins_batch;
                    grants.push(Granted { call, claim: held.claim.clone(), node: held.id, handoff });
                }
            }
        }
        if self.waiting.is_empty() {
            // An empty map keeps the memory of some calls.
            self.waiting = BTreeMap::new();
        }
        if self.kind != Kind::Lock {
            self.leave();
        }
        grants
    }

    /// Refuses all calls from now on, and returns those that wait.
    pub(super) fn close(&mut self) -> Vec<Call<C>> {
        self.is_closed = true;
        self.drain()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn drain(&mut self) -> Vec<Call<C>> {
        mem::take(&mut self.waiting).into_values().collect()
    }
}

/// What is known of the line.
impl<C, L: Handle> State<C, L> {
    /// Returns the number of calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the call that has waited for the longest time.
    pub(super) fn first(&self) -> Option<&Call<C>> {
        self.waiting.first_key_value().map(|(_, call)| call)
    }

    /// Returns the callers that wait, each with the number of contenders in front: those of other clients, and calls of this
    /// one. There are none while the place of this client is not known.
    pub(super) fn queued(&mut self) -> impl Iterator<Item = (usize, &mut C)> {
        let ahead = self.ahead();
        let callers = self.waiting.values_mut().map(|call| &mut call.caller);
        ahead.into_iter().flat_map(|ahead| ahead..).zip(callers)
    }

    /// Returns the caller of this call with the number of contenders in front of it, if that is known.
    pub(super) fn queued_as(&mut self, id: CallId) -> Option<(usize, &mut C)> {
        let ahead = self.ahead()?;
        let is_last = self.waiting.last_key_value().is_some_and(|(last, _)| *last == id);
        let in_front = if is_last { self.waiting.len() - 1 } else { self.waiting.range(..id).count() };
        Some((ahead + in_front, &mut self.waiting.get_mut(&id)?.caller))
    }

    /// Returns the number of contenders in front of the first call, if the place of this client is known.
    fn ahead(&self) -> Option<usize> {
        let others = self.contender.and_then(|contender| contender.ahead);
        let own = match self.kind {
            Kind::Lock => usize::from(self.is_in_use()),
            // A contender stands behind the permits of its client.
            Kind::Permits { .. } if self.has_all() => self.held.len(),
            Kind::Permits { .. } => 0,
        };
        self.is_queued().then(|| others.unwrap_or(0) + own)
    }

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    pub(super) fn is_queued(&self) -> bool {
        let is_behind_own = match self.kind {
            Kind::Lock => !self.held.is_empty(),
            Kind::Permits { .. } => self.has_all() || self.held.iter().any(HeldNode::is_vacant),
        };
        is_behind_own || self.is_contender_queued()
    }

    fn is_contender_queued(&self) -> bool {
        self.contender.is_some_and(|contender| contender.ahead.is_some())
    }

    /// Returns whether calls in line wait for calls of this client that hold the lock, and for no other client.
    pub(super) fn is_behind_own(&self) -> bool {
        match self.kind {
            Kind::Lock => self.is_in_use() && !self.is_contender_queued(),
            Kind::Permits { .. } => self.has_all(),
        }
    }

    /// Returns whether a call of this client holds the lock under the held node.
    fn is_in_use(&self) -> bool {
        self.held.iter().any(|held| !held.is_vacant())
    }

    /// Returns whether this client has as many permits as it can have.
    fn has_all(&self) -> bool {
        matches!(self.kind, Kind::Permits { most: Some(most), .. } if self.held.len() >= most)
    }

    /// Returns whether a call in this mode would have to wait for others.
    fn is_contended(&self, mode: Mode) -> bool {
        let mut waiting = self.waiting.values();
        if self.kind != Kind::Lock {
            // The permits that the client holds do not tell whether the servers have another one.
            return waiting.any(|call| call.contention == Contention::Wait);
        }
        let is_in_front = waiting.any(|call| (mode, call.mode) != (Mode::Shared, Mode::Shared));
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_withdrawn = self.contender.is_some_and(|contender| contender.is_withdrawn);
        // A reader that only the bound keeps out enters with a node of its own.
        let is_in_use = self.held.iter().any(|held| !held.is_open_to(mode));
        is_in_front || (self.is_contender_queued() && !is_withdrawn) || is_in_use
    }

    /// Returns the node with this id, until its lease is only its holders'.
    pub(super) fn node(&self, node: NodeId) -> Option<&HeldNode<L>> {
        self.held.iter().chain(&self.left).find(|held| held.id == node)
    }
}

/// What happens to the contender and to the held nodes.
impl<C, L: Handle> State<C, L> {
    /// Takes note of the number of contenders in front, and returns the calls that do not wait for them. Those for permits are
    /// not among them: others at the gate do not tell whether there are permits.
    pub(super) fn behind(&mut self, count: usize) -> Vec<Call<C>> {
        if let Some(contender) = &mut self.contender {
            contender.ahead = Some(count);
        }
        match self.kind {
            Kind::Lock => self.take_out(|call| call.contention == Contention::Leave),
            Kind::Permits { .. } => Vec::new(),
        }
    }

    /// Takes note that the contender has no place in the queue, because the session ended.
    pub(super) fn restarted(&mut self) {
        if let Some(contender) = &mut self.contender {
            contender.ahead = None;
        }
    }

    /// Takes over a node that has come to the head of its queue.
    pub(super) fn headed(&mut self, claim: L, now: Instant) -> Vec<Granted<C, L>> {
        let mode = self.contender.take().map_or(Mode::Exclusive, |contender| contender.entry.mode);
        self.last_node += 1;
        if self.kind == Kind::Lock {
            // The node before is gone, or this one would not be at the head.
            self.left.append(&mut self.held);
        }
        // Most have one for a long time.
        self.held.reserve_exact(1);
        self.held.push(HeldNode::new(NodeId(self.last_node), (claim, self.kind), mode, now));
        self.serve(now)
    }

    /// Takes note that the contender has left.
    pub(super) fn withdrawn(&mut self) {
        self.contender = None;
    }

    /// Takes note that a contender that does not wait has found others in the way. Returns the calls that do not wait either, and
    /// that had come before it looked.
    pub(super) fn contended(&mut self) -> Vec<Call<C>> {
        let newest = self.contender.take().map(|contender| contender.newest);
        self.take_out(|call| call.contention == Contention::Leave && Some(call.id) <= newest)
    }

    /// Takes note that the contender was refused, and returns all calls that wait.
    pub(super) fn refused(&mut self) -> Vec<Call<C>> {
        self.contender = None;
        self.drain()
    }

    /// Takes a node out of the queue that has to be left to its present holders.
    pub(super) fn take_held(&mut self, node: NodeId) -> Option<L> {
        let index = self.held.iter().position(|held| held.id == node)?;
        Some(self.held.remove(index).claim)
    }

    /// Gives up the nodes that nobody uses, unless a call waits.
    pub(super) fn leave(&mut self) {
        if self.waiting.is_empty() {
            self.left.extend(self.held.extract_if(.., |held| held.is_vacant()));
        }
    }

    /// Removes the calls whose deadlines have passed, and returns them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Call<C>> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        self.take_out(|call| call.deadline.is_some_and(|deadline| deadline <= now))
    }

    fn take_out(&mut self, which: impl Fn(&Call<C>) -> bool) -> Vec<Call<C>> {
        let ids: Vec<_> = self.waiting.values().filter(|call| which(call)).map(|call| call.id).collect();
        ids.iter().filter_map(|id| self.waiting.remove(id)).collect()
    }
}

/// What the task does.
impl<C, L: Handle> State<C, L> {
    /// Tells whether the task has something to do after a change that it does not know of, and takes note that it is woken.
    pub(super) fn wake(&mut self, now: Instant) -> Wake {
        match mem::replace(&mut self.task, Task::Awake) {
            Task::Awake => Wake::Nobody,
            Task::Absent if self.need(now).is_some() || !self.is_idle() => Wake::NewTask,
            Task::Absent => {
                self.task = Task::Absent;
                Wake::Nobody
            }
            Task::Asleep { until, watched } => {
                let is_sooner = |soonest| until.is_none_or(|until| soonest < until);
                if self.is_news(&watched, now) || self.soonest().is_some_and(is_sooner) {
                    return Wake::Task;
                }
                self.task = Task::Asleep { until, watched };
                Wake::Nobody
            }
        }
    }

    /// Returns whether a task that watches these nodes has something to do, or has to watch others. The task
    /// itself waits for changes of their leases.
    fn is_news(&self, watched: &[Watched], now: Instant) -> bool {
        if !self.left.is_empty() || self.need(now).is_some() {
            return true;
        }
        if self.is_idle() {
            // The task sleeps on beside a node that is in use, for the next call. It must not keep one that leaves.
            return !watched.iter().all(|watched| self.held.iter().any(|held| held.id == watched.node));
        }
        let watched = watched.iter().map(|watched| (watched.node, watched.is_open));
        !self.to_watch().map(|(held, is_open)| (held.id, is_open)).eq(watched)
    }

    /// Returns what the task has to do next, and takes note that it does so.
    pub(super) fn next(&mut self, now: Instant) -> Need<L> {
        if !self.left.is_empty() {
            return Need::GiveUp(mem::take(&mut self.left));
        }
        match self.need(now) {
            Some(Need::Contend(entry)) => {
                let newest = CallId(self.last_call);
                self.contender = Some(Contender { entry, newest, ahead: None, is_withdrawn: false });
                Need::Contend(entry)
            }
            Some(Need::Withdraw) => {
                self.contender.iter_mut().for_each(|contender| contender.is_withdrawn = true);
                Need::Withdraw
            }
            Some(need) => need,
            None if self.is_idle() => {
                self.task = Task::Absent;
                Need::Nothing
            }
            None => {
                self.deadline = self.waiting.values().filter_map(|call| call.deadline).min();
                let until = self.soonest();
                let watched: Vec<_> = self.to_watch().map(|(held, is_open)| held.watched(is_open)).collect();
                self.task = Task::Asleep { until, watched: watched.clone() };
                Need::Wait(watched, until)
            }
        }
    }

    /// Takes note that there is no task any more, so that a later call starts another one. Returns the calls that wait, and the
    /// leases.
    ///
    /// Holders that give their locks back later find no held node, so that the last of them releases it.
    pub(super) fn abandon(&mut self) -> (Vec<Call<C>>, Vec<L>) {
        (self.contender, self.task) = (None, Task::Absent);
        let claims = self.held.drain(..).chain(self.left.drain(..)).map(|held| held.claim).collect();
        (self.drain(), claims)
    }

    /// Returns what the task has to do before it waits for a change.
    fn need(&self, now: Instant) -> Option<Need<L>> {
        if let Some(vacant) = self.held.iter().find(|held| held.is_vacant() && self.waiting.is_empty()) {
            return Some(Need::Leave(vacant.id, vacant.handoffs));
        }
        if let Some(node) = self.node_to_downgrade(now) {
            return Some(Need::Downgrade(node));
        }
        let needed = self.needed();
        match self.contender {
            Some(contender) => {
                (!contender.is_withdrawn && !contender.serves(needed)).then_some(Need::Withdraw)
            }
            None => needed.map(Need::Contend),
        }
    }

    /// Returns whether there is nothing to wait for.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.contender.is_none() && self.to_watch().next().is_none()
    }

    /// Returns the contender that the first call in line needs, if what is held is of no use to it.
    fn needed(&self) -> Option<Entry> {
        let &Call { mode, contention, .. } = self.first()?;
        let is_needed = match self.kind {
            Kind::Lock => self.held.iter().all(|held| held.keeps_out(mode)),
            // A call that does not wait asks the servers.
            Kind::Permits { .. } => contention == Contention::Leave || !self.has_all(),
        };
        is_needed.then_some(Entry { mode, contention })
    }

    /// Returns the nodes whose leases matter to the queue while nothing else happens, and whether each is open to the first call.
    fn to_watch(&self) -> impl Iterator<Item = (&HeldNode<L>, bool)> {
        let first = self.first().map(|call| call.mode);
        let held = self.held.iter().filter(move |held| first.is_some() || held.shuts_readers_out());
        held.map(move |held| (held, first.is_some_and(|mode| held.is_open_to(mode))))
    }

    /// Returns an instant that is not later than the next deadline or bound.
    fn soonest(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.shuts_out_until()).min()
    }

    /// Returns the node under which local readers no longer may keep other clients' readers out. The first call in line is
    /// such a reader where the node does not admit it.
    fn node_to_downgrade(&self, now: Instant) -> Option<NodeId> {
        let (is_read, limits) =
            (self.first().is_some_and(|call| call.mode == Mode::Shared), (self.queueing, now));
        let held = self.held.first().filter(|held| held.shuts_readers_out())?;
        let is_over = self.shuts_out_until().is_some_and(|until| until <= now);
        let is_closed = is_read && held.admits(Mode::Shared, false, limits) == Admission::Never;
        (is_closed || is_over).then_some(held.id)
    }

    /// Returns the instant at which local readers have to let other clients' readers in, if that is bounded.
    fn shuts_out_until(&self) -> Option<Instant> {
        self.held.first().and_then(|held| held.shuts_out_until(self.queueing))
    }
}

impl Contender {
    /// Returns whether it goes on if this one is needed. One that does not wait may find the lock free for a call that waits.
    fn serves(&self, needed: Option<Entry>) -> bool {
        needed.is_some_and(|needed| {
            needed.mode == self.entry.mode
                && (self.entry.contention == Contention::Leave || needed.contention == Contention::Wait)
        })
    }
}
