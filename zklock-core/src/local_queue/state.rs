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
//! 4. The work of the task follows from the state alone, by [`State::need`]. A change wakes the task only if it has work.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Bound;
use std::time::Instant;

use crate::client::settings::Queueing;
use crate::deadline::{Contention, Deadline};

use super::held::{Admission, Handle, HeldNode, Kind, Mode, NodeId};

/// The identity of a call, and its place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId(pub(super) u64);

/// One call in line.
#[cfg_attr(test, derive(Clone, Debug, PartialEq, Eq, Hash))]
pub(super) struct Call<C> {
    pub(super) id: CallId,
    pub(super) mode: Mode,
    pub(super) deadline: Deadline,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Contend for the lock, or for permits.
    Contend(Entry),
    /// Withdraw the contender, because no call in line can use it.
    Withdraw,
    /// Release a node that nobody uses, unless a call comes for it in a moment. It has had this many grants.
    Leave(NodeId, u32),
    /// Wait for news, and for this instant, if there is one.
    Wait(Option<Instant>),
    /// Nothing is left to do, and the task ends.
    Nothing,
}

/// Whether a task does the work of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    Absent,
    /// The task sleeps until this instant, or until there are news.
    Asleep(Option<Instant>),
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

/// A call that is granted the lock.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Granted<C, L> {
    pub(super) call: Call<C>,
    pub(super) claim: L,
    pub(super) node: NodeId,
    /// The number of earlier grants under the same node.
    pub(super) handoff: u32,
}

/// The calls of one client that wait for one lock or semaphore, and what they share of it.
#[cfg_attr(test, derive(Clone, Debug, PartialEq, Eq, Hash))]
pub(super) struct State<C, L> {
    kind: Kind,
    queueing: Queueing,
    last_call: CallId,
    /// The last call whose listeners were told that it waits. One that comes back to an earlier place is not told again.
    told: CallId,
    pub(super) waiting: BTreeMap<CallId, Call<C>>,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
    pub(super) last_node: u64,
    /// In the order in which they came. A lock has at most one.
    pub(super) held: Vec<HeldNode<L>>,
    /// Nodes that have just left. Their leases are their holders' alone, once the caller that made the change has dropped these.
    pub(super) left: Vec<HeldNode<L>>,
    pub(super) contender: Option<Contender>,
    task: Task,
}

/// What calls do.
impl<C, L: Handle> State<C, L> {
    pub(super) fn new(queueing: Queueing, kind: Kind) -> Self {
        Self {
            kind,
            queueing,
            last_call: CallId(0),
            told: CallId(0),
            waiting: BTreeMap::new(),
            deadline: None,
            last_node: 0,
            held: Vec::new(),
            left: Vec::new(),
            contender: None,
            task: Task::Absent,
        }
    }

    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.last_call.0 += 1;
        self.last_call
    }

    /// Puts a call into the line, at the place of its id. Returns the call if it does not wait for others, and would have to.
    pub(super) fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Vec<Granted<C, L>>, Call<C>> {
        if call.deadline.contention == Contention::Leave && self.is_contended(call.mode) {
            return Err(call);
        }
        self.deadline = self.deadline.into_iter().chain(call.deadline.end()).min();
        self.waiting.insert(call.id, call);
        Ok(self.serve(now))
    }

    /// Removes a call whose caller no longer waits.
    pub(super) fn gone(&mut self, id: CallId, now: Instant) -> Vec<Granted<C, L>> {
        self.waiting.remove(&id);
        self.serve(now)
    }

    /// Handles the end of a grant. It changes nothing under a node that has left.
    pub(super) fn given_back(&mut self, node: NodeId, now: Instant) -> Vec<Granted<C, L>> {
        self.held.iter_mut().filter(|held| held.id == node).for_each(HeldNode::give_back);
        self.serve(now)
    }

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    pub(super) fn downgraded(&mut self, node: NodeId, now: Instant) -> Vec<Granted<C, L>> {
        self.held.iter_mut().filter(|held| held.id == node).for_each(HeldNode::downgrade);
        self.serve(now)
    }

    /// Grants the nodes to as many calls as they admit. The others leave that never will, or keep other clients' readers out.
    pub(super) fn serve(&mut self, now: Instant) -> Vec<Granted<C, L>> {
        let limits = (self.queueing, now);
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let leaves = |held: &mut HeldNode<L>| is_over(held.shuts_out_until(self.queueing));
        self.left.extend(self.held.extract_if(.., leaves));
        // Readers that are let in together under a node that nobody holds count as one grant.
        let (mut grants, mut is_batch, mut index) = (Vec::new(), false, 0);
        while let (Some(first), Some(held)) = (self.waiting.first_entry(), self.held.get_mut(index)) {
            let mode = first.get().mode;
            match held.admits(mode, is_batch, limits) {
                Admission::Later => index += 1,
                Admission::Never => self.left.push(self.held.remove(index)),
                Admission::Now => {
                    let begins_batch = mode == Mode::Shared && held.is_vacant();
                    let (call, handoff) = (first.remove(), held.grant(mode, is_batch, now));
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

    /// Removes all calls from the line, and returns them.
    pub(super) fn drain(&mut self) -> Vec<Call<C>> {
        mem::take(&mut self.waiting).into_values().collect()
    }
}

/// What is known of the line.
impl<C, L: Handle> State<C, L> {
    /// Returns the call that has waited for the longest time.
    pub(super) fn first(&self) -> Option<&Call<C>> {
        self.waiting.first_key_value().map(|(_, call)| call)
    }

    /// Returns the callers that have come since the last look, each with the number of contenders in front: those of other
    /// clients, and calls of this one. There are none while the place of this client is not known.
    pub(super) fn newly_queued(&mut self) -> Vec<(usize, &C)> {
        let Some(ahead) = self.ahead() else { return Vec::new() };
        let told = mem::replace(&mut self.told, self.last_call);
        let calls = self.waiting.range((Bound::Excluded(told), Bound::Unbounded));
        let callers: Vec<_> = calls.map(|(_, call)| &call.caller).collect();
        (ahead + self.waiting.len() - callers.len()..).zip(callers).collect()
    }

    /// Returns the number of contenders in front of the first call, if the place of this client is known.
    fn ahead(&self) -> Option<usize> {
        let others = self.contender.and_then(|contender| contender.ahead).unwrap_or(0);
        // A contender stands behind the permits of its client.
        let own = self.held.iter().filter(|held| self.has_all() && !held.is_vacant()).count();
        self.is_queued().then_some(others + own)
    }

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    pub(super) fn is_queued(&self) -> bool {
        self.has_all() || self.held.iter().any(HeldNode::is_vacant) || self.is_contender_queued()
    }

    fn is_contender_queued(&self) -> bool {
        self.contender.is_some_and(|contender| contender.ahead.is_some())
    }

    /// Returns whether calls in line wait for calls of this client that hold the lock, and for no other client.
    pub(super) fn is_behind_own(&self) -> bool {
        self.has_all() && self.held.iter().any(|held| !held.is_vacant()) && !self.is_contender_queued()
    }

    /// Returns whether this client has the lock, or as many permits as it can have.
    fn has_all(&self) -> bool {
        let most = match self.kind {
            Kind::Lock => Some(1),
            Kind::Permits { most, .. } => most,
        };
        most.is_some_and(|most| self.held.len() >= most)
    }

    /// Returns whether a call in this mode would have to wait for others.
    fn is_contended(&self, mode: Mode) -> bool {
        let mut waiting = self.waiting.values();
        if self.kind != Kind::Lock {
            // The permits that the client holds do not tell whether the servers have another one.
            return waiting.any(|call| call.deadline.contention == Contention::Wait);
        }
        let is_in_front = waiting.any(|call| (mode, call.mode) != (Mode::Shared, Mode::Shared));
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_withdrawn = self.contender.is_some_and(|contender| contender.is_withdrawn);
        // A reader that only the bound keeps out enters with a node of its own, and any call does beside a lost one.
        let is_in_use = self.held.iter().any(|held| !held.is_open_to(mode) && !held.is_lost());
        is_in_front || (self.is_contender_queued() && !is_withdrawn) || is_in_use
    }
}

/// What happens to the contender and to the held nodes.
impl<C, L: Handle> State<C, L> {
    /// Takes note of the number of contenders in front, if the contender has a place in the queue, and returns the calls that do
    /// not wait for them. Those for permits are not among them: others at the gate do not tell whether there are permits.
    pub(super) fn placed(&mut self, ahead: Option<usize>) -> Vec<Call<C>> {
        self.contender.iter_mut().for_each(|contender| contender.ahead = ahead);
        let is_contended = ahead.is_some() && self.kind == Kind::Lock;
        self.take_out(|call| is_contended && call.deadline.contention == Contention::Leave)
    }

    /// Takes over a node that has come to the head of its queue.
    pub(super) fn headed(&mut self, claim: L, now: Instant) -> Vec<Granted<C, L>> {
        let mode = self.contender.take().map_or(Mode::Exclusive, |contender| contender.entry.mode);
        self.last_node += 1;
        if self.kind == Kind::Lock {
            // The node before is gone, or this one would not be at the head.
            self.left.append(&mut self.held);
        }
        // Most locks have one held node at a time.
        self.held.reserve_exact(1);
        self.held.push(HeldNode::new(NodeId(self.last_node), (claim, self.kind), mode, now));
        self.serve(now)
    }

    /// Takes note that a contender that does not wait has found others in the way. Returns the calls that do not wait either, and
    /// that had come before it looked.
    pub(super) fn contended(&mut self) -> Vec<Call<C>> {
        let newest = self.contender.take().map(|contender| contender.newest);
        self.take_out(|call| call.deadline.contention == Contention::Leave && Some(call.id) <= newest)
    }

    /// Gives up the nodes that nobody uses, unless a call waits.
    pub(super) fn leave(&mut self) {
        if self.waiting.is_empty() {
            self.left.extend(self.held.extract_if(.., |held| held.is_vacant()));
        }
    }

    fn take_out(&mut self, which: impl Fn(&Call<C>) -> bool) -> Vec<Call<C>> {
        let ids: Vec<_> = self.waiting.values().filter(|call| which(call)).map(|call| call.id).collect();
        ids.iter().filter_map(|id| self.waiting.remove(id)).collect()
    }
}

/// What the task does.
impl<C, L: Handle> State<C, L> {
    /// Tells whether the task has work after a change that it does not know of, and takes note that it is woken.
    pub(super) fn wake(&mut self, now: Instant) -> Wake {
        let wake = match self.task {
            Task::Absent if self.need() != Need::Nothing => Wake::NewTask,
            Task::Asleep(_) if self.has_news(now) => Wake::Task,
            _ => return Wake::Nobody,
        };
        self.task = Task::Awake;
        wake
    }

    /// Returns whether a task that sleeps has work.
    pub(super) fn has_news(&self, now: Instant) -> bool {
        let Task::Asleep(until) = self.task else { return false };
        match self.need() {
            Need::Wait(soonest) => {
                let is_sooner = |soonest| until.is_none_or(|until| soonest < until);
                soonest.is_some_and(is_sooner) || self.can_serve(now)
            }
            // It sleeps on beside a node that is in use, for the next call.
            Need::Nothing => self.held.is_empty(),
            Need::Contend(_) | Need::Withdraw | Need::Leave(..) => true,
        }
    }

    /// Returns whether a node admits the first call in line, or has to leave because it never will.
    fn can_serve(&self, now: Instant) -> bool {
        let is_served = |mode| {
            let mut admissions = self.held.iter().map(|held| held.admits(mode, false, (self.queueing, now)));
            admissions.any(|admission| admission != Admission::Later)
        };
        self.first().is_some_and(|call| is_served(call.mode))
    }

    /// Takes note that the task is awake. Removes the calls whose deadlines have passed, and returns them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Call<C>> {
        self.task = Task::Awake;
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        let expired = self.take_out(|call| call.deadline.end().is_some_and(|end| end <= now));
        self.deadline = self.waiting.values().filter_map(|call| call.deadline.end()).min();
        expired
    }

    /// Returns what the task has to do next, and takes note that it does so.
    pub(super) fn next(&mut self) -> Need {
        let need = self.need();
        match need {
            Need::Contend(entry) => {
                let newest = self.last_call;
                self.contender = Some(Contender { entry, newest, ahead: None, is_withdrawn: false });
            }
            Need::Withdraw => {
                self.contender.iter_mut().for_each(|contender| contender.is_withdrawn = true);
            }
            Need::Leave(..) => {}
            Need::Wait(until) => self.task = Task::Asleep(until),
            Need::Nothing => self.task = Task::Absent,
        }
        need
    }

    /// Takes note that there is no task any more, so that a later call starts another one. Returns the calls that wait. The
    /// held nodes are left to their holders.
    pub(super) fn abandon(&mut self) -> Vec<Call<C>> {
        (self.contender, self.task) = (None, Task::Absent);
        self.left.append(&mut self.held);
        self.drain()
    }

    /// Returns what the task has to do next.
    fn need(&self) -> Need {
        let vacant = self.held.iter().find(|held| held.is_vacant());
        if let Some(vacant) = vacant.filter(|_| self.waiting.is_empty()) {
            return Need::Leave(vacant.id, vacant.handoffs);
        }
        let keeps_others_out = self.held.iter().any(HeldNode::shuts_readers_out);
        match (self.contender, self.needed()) {
            (None, Some(entry)) => Need::Contend(entry),
            (Some(contender), needed) if !contender.is_withdrawn && !contender.serves(needed) => {
                Need::Withdraw
            }
            (None, None) if self.waiting.is_empty() && !keeps_others_out => Need::Nothing,
            _ => {
                let turns = self.held.iter().filter_map(|held| held.shuts_out_until(self.queueing));
                Need::Wait(self.deadline.into_iter().chain(turns).min())
            }
        }
    }

    /// Returns the contender that the first call in line needs, if what is held is of no use to it.
    fn needed(&self) -> Option<Entry> {
        let &Call { mode, deadline: Deadline { contention, .. }, .. } = self.first()?;
        let is_needed = match self.kind {
            Kind::Lock => self.held.iter().all(|held| held.keeps_out(mode)),
            // A call that does not wait asks the servers.
            Kind::Permits { .. } => contention == Contention::Leave || !self.has_all(),
        };
        is_needed.then_some(Entry { mode, contention })
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
