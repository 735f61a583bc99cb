//! The calls of one client that wait, in the order in which they came.

mod ordered;

use std::mem;
use std::time::Instant;

use super::call::{Call, CallId, Manner, Side};

use self::ordered::Ordered;

/// The calls of one client that wait, in the order in which they came, and the work that their task has with them.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Waiters<C, W> {
    next_call: u64,
    /// `None` once a task has ended and no call waits: there is no work then. A lock that is held for long has neither.
    present: Option<Box<Present<C, W>>>,
}

/// The calls that wait, and the work of their task.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
struct Present<C, W> {
    queue: Queue<C>,
    work: W,
}

/// The calls that wait.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
struct Queue<C> {
    /// In the order of their ids. A call that is gone stays until it is the first, or one of many.
    calls: Ordered<C>,
    living: usize,
    /// The number of the living that share the lock with nobody.
    exclusive: usize,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
}

impl<C, W: Default> Waiters<C, W> {
    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    /// Returns the number of calls that wait.
    pub(super) fn len(&self) -> usize {
        self.queue().map_or(0, |queue| queue.living)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a call waits beside which a call of this side cannot hold the lock.
    pub(super) fn keep_out(&self, side: Side) -> bool {
        self.queue().is_some_and(|queue| match side {
            Side::Exclusive => queue.living > 0,
            Side::Shared => queue.exclusive > 0,
        })
    }

    /// Returns whether a call is in line that waits for others.
    pub(super) fn have_patience(&self) -> bool {
        let waits = |call: &Call<C>| call.is_alive() && call.manner == Manner::Wait;
        self.queue().is_some_and(|queue| queue.calls.iter().any(waits))
    }

    /// Returns the work, unless there is none.
    pub(super) fn work(&self) -> Option<&W> {
        Some(&self.present.as_ref()?.work)
    }

    pub(super) fn work_mut(&mut self) -> Option<&mut W> {
        Some(&mut self.present.as_mut()?.work)
    }

    /// Returns the work, which begins now if there was none.
    pub(super) fn begin_work(&mut self) -> &mut W {
        &mut self.present.get_or_insert_default().work
    }

    /// Ends the work, and gives its memory back. No call may wait.
    pub(super) fn rest(&mut self) {
        debug_assert!(self.is_empty());
        self.present = None;
    }

    /// Puts a call at the place of its id.
    pub(super) fn insert(&mut self, call: Call<C>) {
        self.present.get_or_insert_default().queue.insert(call);
    }

    /// Removes a call whose caller no longer waits. Returns `false` if it is not here.
    pub(super) fn remove(&mut self, id: CallId) -> bool {
        self.queue_mut().is_some_and(|queue| queue.remove(id))
    }

    /// Returns the first call that waits, after dropping calls that are gone.
    pub(super) fn first(&mut self) -> Option<&Call<C>> {
        self.queue_mut()?.first()
    }

    /// Takes the first call that waits.
    pub(super) fn pop(&mut self) -> Option<Call<C>> {
        self.queue_mut()?.pop()
    }

    /// Takes those calls out that this holds for.
    pub(super) fn take_out(&mut self, which: impl Fn(&Call<C>) -> bool) -> Vec<Call<C>> {
        self.queue_mut().map(|queue| queue.take_out(which)).unwrap_or_default()
    }

    /// Takes all calls out.
    pub(super) fn drain(&mut self) -> Vec<Call<C>> {
        let queue = self.queue_mut().map(mem::take);
        queue.into_iter().flat_map(|queue| queue.calls).filter(Call::is_alive).collect()
    }

    /// Returns the callers that wait, in the order of their calls.
    pub(super) fn callers(&mut self) -> impl Iterator<Item = &mut C> {
        let calls = self.queue_mut().into_iter().flat_map(|queue| queue.calls.iter_mut());
        calls.filter_map(|call| call.caller.as_mut())
    }

    /// Returns an instant that is not later than the earliest deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue()?.deadline
    }

    /// Returns the earliest deadline of the calls that wait, and of others, whose earliest one is `others`.
    pub(super) fn find_deadline(&mut self, others: Option<Instant>) -> Option<Instant> {
        let deadline = self.queue().and_then(Queue::earliest).into_iter().chain(others).min();
        if let Some(queue) = self.queue_mut() {
            queue.deadline = deadline;
        }
        deadline
    }

    /// Returns whether no call that waits, or has waited, has a deadline up to this instant.
    pub(super) fn is_early(&self, now: Instant) -> bool {
        self.deadline().is_none_or(|deadline| deadline > now)
    }

    fn queue(&self) -> Option<&Queue<C>> {
        Some(&self.present.as_ref()?.queue)
    }

    fn queue_mut(&mut self) -> Option<&mut Queue<C>> {
        Some(&mut self.present.as_mut()?.queue)
    }

    #[cfg(test)]
    pub(super) fn is_swept(&self) -> bool {
        self.queue().is_none_or(|queue| queue.calls.len() <= 2 * queue.living + SPARE)
    }
}

impl<C> Queue<C> {
    /// Puts a call at the place of its id.
    fn insert(&mut self, call: Call<C>) {
        self.deadline = self.deadline.into_iter().chain(call.deadline).min();
        self.count_in(call.side);
        self.calls.insert(call);
    }

    /// Removes a call whose caller no longer waits. Returns `false` if it is not here.
    fn remove(&mut self, id: CallId) -> bool {
        let call = self.calls.get_mut(id).filter(|call| call.is_alive());
        let Some(Call { side, .. }) = call.map(Call::take) else { return false };
        self.count_out(side);
        self.sweep();
        true
    }

    /// Returns the first call that waits, after dropping calls that are gone.
    fn first(&mut self) -> Option<&Call<C>> {
        while self.calls.first().is_some_and(|call| !call.is_alive()) {
            self.calls.pop();
        }
        self.calls.first()
    }

    /// Takes the first call that waits.
    fn pop(&mut self) -> Option<Call<C>> {
        self.first()?;
        let call = self.calls.pop()?;
        self.count_out(call.side);
        Some(call)
    }

    /// Takes those calls out that this holds for.
    fn take_out(&mut self, which: impl Fn(&Call<C>) -> bool) -> Vec<Call<C>> {
        let mut taken = Vec::new();
        for call in self.calls.iter_mut().filter(|call| call.is_alive() && which(call)) {
            taken.push(call.take());
        }
        taken.iter().for_each(|call| self.count_out(call.side));
        self.sweep();
        taken
    }

    /// Returns the earliest deadline.
    fn earliest(&self) -> Option<Instant> {
        self.calls.iter().filter(|call| call.is_alive()).filter_map(|call| call.deadline).min()
    }

    fn count_in(&mut self, side: Side) {
        self.living += 1;
        self.exclusive += usize::from(side == Side::Exclusive);
    }

    fn count_out(&mut self, side: Side) {
        self.living -= 1;
        self.exclusive -= usize::from(side == Side::Exclusive);
    }

    /// Drops the calls that are gone, once they are the most.
    fn sweep(&mut self) {
        if self.calls.len() > 2 * self.living + SPARE {
            self.calls.retain(Call::is_alive);
        }
    }
}

impl<C, W> Default for Waiters<C, W> {
    fn default() -> Self {
        Self { next_call: 0, present: None }
    }
}

impl<C, W: Default> Default for Present<C, W> {
    fn default() -> Self {
        Self { queue: Queue::default(), work: W::default() }
    }
}

impl<C> Default for Queue<C> {
    fn default() -> Self {
        Self { calls: Ordered::default(), living: 0, exclusive: 0, deadline: None }
    }
}

/// The number of calls that are gone that may always be kept.
const SPARE: usize = 16;
