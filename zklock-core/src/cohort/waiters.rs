//! The calls of one client that wait, in the order in which they came.

use std::collections::VecDeque;
use std::time::Instant;

use super::call::{Call, CallId, Side};

/// The calls of one client that wait, in the order in which they came.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Waiters<C> {
    next_call: u64,
    /// `None` while no call waits. A lock that is held for long has none.
    queue: Option<Box<Queue<C>>>,
}

/// The calls that wait.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
struct Queue<C> {
    /// In the order of their ids. A call that is gone stays until it is the first, or one of many.
    calls: VecDeque<Call<C>>,
    living: usize,
    /// The number of the living that share the lock with nobody.
    exclusive: usize,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
}

impl<C> Waiters<C> {
    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    /// Returns the number of calls that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.living)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a call waits beside which a call of this side cannot hold the lock.
    pub(super) fn keep_out(&self, side: Side) -> bool {
        self.queue.as_ref().is_some_and(|queue| match side {
            Side::Exclusive => queue.living > 0,
            Side::Shared => queue.exclusive > 0,
        })
    }

    /// Gives back the memory for calls that there are no more.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            self.queue = None;
        }
    }

    /// Puts a call at the place of its id.
    pub(super) fn insert(&mut self, call: Call<C>) {
        self.queue.get_or_insert_default().insert(call);
    }

    /// Removes a call whose caller no longer waits. Returns `false` if it is not here.
    pub(super) fn remove(&mut self, id: CallId) -> bool {
        self.queue.as_mut().is_some_and(|queue| queue.remove(id))
    }

    /// Returns the first call that waits, after dropping calls that are gone.
    pub(super) fn first(&mut self) -> Option<&Call<C>> {
        self.queue.as_mut()?.first()
    }

    /// Takes the first call that waits.
    pub(super) fn pop(&mut self) -> Option<Call<C>> {
        self.queue.as_mut()?.pop()
    }

    /// Takes those calls out that this holds for.
    pub(super) fn take_out(&mut self, which: impl Fn(&Call<C>) -> bool) -> Vec<Call<C>> {
        self.queue.as_mut().map(|queue| queue.take_out(which)).unwrap_or_default()
    }

    /// Takes all calls out.
    pub(super) fn drain(&mut self) -> Vec<Call<C>> {
        let queue = self.queue.take();
        queue.into_iter().flat_map(|queue| queue.calls).filter(Call::is_alive).collect()
    }

    /// Returns the callers that wait, in the order of their calls.
    pub(super) fn callers(&mut self) -> impl Iterator<Item = &mut C> {
        let calls = self.queue.iter_mut().flat_map(|queue| &mut queue.calls);
        calls.filter_map(|call| call.caller.as_mut())
    }

    /// Returns an instant that is not later than the earliest deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.as_ref()?.deadline
    }

    /// Returns the earliest deadline of the calls that wait, and of these others.
    pub(super) fn find_deadline(&mut self, others: &[Call<C>]) -> Option<Instant> {
        let deadline = |call: &Call<C>| call.deadline;
        let others = others.iter().filter_map(deadline).min();
        let Some(queue) = &mut self.queue else {
            if others.is_some() {
                self.queue.get_or_insert_default().deadline = others;
            }
            return others;
        };
        let calls = queue.calls.iter().filter(|call| call.is_alive()).filter_map(deadline);
        queue.deadline = calls.chain(others).min();
        queue.deadline
    }

    /// Returns whether no call that waits, or has waited, has a deadline up to this instant.
    pub(super) fn is_early(&self, now: Instant) -> bool {
        self.deadline().is_none_or(|deadline| deadline > now)
    }

    #[cfg(test)]
    pub(super) fn is_swept(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| queue.calls.len() <= 2 * queue.living + SPARE)
    }
}

impl<C> Queue<C> {
    /// Puts a call at the place of its id.
    fn insert(&mut self, call: Call<C>) {
        self.deadline = self.deadline.into_iter().chain(call.deadline).min();
        self.count_in(call.side);
        let place = self.calls.partition_point(|other| other.id < call.id);
        self.calls.insert(place, call);
    }

    /// Removes a call whose caller no longer waits. Returns `false` if it is not here.
    fn remove(&mut self, id: CallId) -> bool {
        let place = self.calls.partition_point(|call| call.id < id);
        let side = match self.calls.get_mut(place) {
            Some(call) if call.id == id && call.is_alive() => call.take().side,
            _ => return false,
        };
        self.count_out(side);
        self.sweep();
        true
    }

    /// Returns the first call that waits, after dropping calls that are gone.
    fn first(&mut self) -> Option<&Call<C>> {
        while self.calls.front().is_some_and(|call| !call.is_alive()) {
            self.calls.pop_front();
        }
        self.calls.front()
    }

    /// Takes the first call that waits.
    fn pop(&mut self) -> Option<Call<C>> {
        self.first()?;
        let call = self.calls.pop_front()?;
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

impl<C> Default for Waiters<C> {
    fn default() -> Self {
        Self { next_call: 0, queue: None }
    }
}

impl<C> Default for Queue<C> {
    fn default() -> Self {
        Self { calls: VecDeque::new(), living: 0, exclusive: 0, deadline: None }
    }
}

/// The number of calls that are gone that may always be kept.
const SPARE: usize = 16;
