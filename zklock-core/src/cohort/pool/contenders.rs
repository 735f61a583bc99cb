//! The contenders of one client at one semaphore.

use std::time::{Duration, Instant};

/// The identity of a contender within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::cohort) struct ContenderId(pub(super) u64);

/// The contenders under way, for one permit each.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Contenders {
    /// In the order in which they entered.
    coming: Vec<Coming>,
    next: u64,
    most: usize,
    /// The last instant at which a call waited for each of them; `None` if spare ones have to leave at once.
    needed: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Coming {
    id: ContenderId,
    /// The number of contenders in front; `None` while that is not known.
    ahead: Option<usize>,
    is_withdrawn: bool,
}

/// A contender to begin or to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Enter(ContenderId),
    Withdraw(ContenderId),
}

impl Contenders {
    pub(super) fn new(most: usize) -> Self {
        Self { coming: Vec::new(), next: 0, most, needed: None }
    }

    /// Decides on the next contender to begin or to end, while this many calls wait.
    pub(super) fn advance(&mut self, waiting: usize, now: Instant) -> Option<Move> {
        self.note_need(waiting, now);
        if self.is_short(waiting) {
            self.next += 1;
            let id = ContenderId(self.next);
            self.coming.push(Coming { id, ahead: None, is_withdrawn: false });
            return Some(Move::Enter(id));
        }
        let is_over = self.spare_until(waiting).is_some_and(|until| until <= now);
        if !is_over && !self.has_to_leave(waiting) {
            return None;
        }
        let youngest = self.coming.iter_mut().rfind(|coming| !coming.is_withdrawn)?;
        youngest.is_withdrawn = true;
        Some(Move::Withdraw(youngest.id))
    }

    /// Returns whether another contender has to enter.
    pub(super) fn is_short(&self, waiting: usize) -> bool {
        // One that is being withdrawn counts until it has left, so that there are never more than these.
        self.active() < waiting.min(self.most) && self.coming.len() < self.most
    }

    fn is_excessive(&self, waiting: usize) -> bool {
        self.active() > waiting
    }

    /// Returns whether a contender that no call waits for has to leave at once.
    pub(super) fn has_to_leave(&self, waiting: usize) -> bool {
        self.is_excessive(waiting) && self.needed.is_none()
    }

    /// Returns the instant at which a contender that no call waits for has to leave.
    pub(super) fn spare_until(&self, waiting: usize) -> Option<Instant> {
        self.needed.filter(|_| self.is_excessive(waiting)).map(|needed| needed + MOMENT)
    }

    /// Takes note of the time if a call waits for each contender.
    pub(super) fn note_need(&mut self, waiting: usize, now: Instant) {
        if !self.is_excessive(waiting) {
            self.needed = Some(now);
        }
    }

    /// Makes contenders leave at once that are not needed while this many calls wait.
    pub(super) fn let_spare_go(&mut self, waiting: usize) {
        if self.is_excessive(waiting) {
            self.needed = None;
        }
    }

    /// Takes note of the number of others in front of a contender.
    pub(super) fn note(&mut self, id: ContenderId, ahead: Option<usize>) {
        if let Some(coming) = self.coming.iter_mut().find(|coming| coming.id == id) {
            coming.ahead = ahead;
        }
    }

    /// Returns the number of others in front of the first contender that is in the queue.
    pub(super) fn ahead(&self) -> Option<usize> {
        self.coming.iter().find_map(|coming| coming.ahead)
    }

    /// Returns whether the contender is under way and not being withdrawn.
    pub(super) fn is_needed(&self, id: ContenderId) -> bool {
        self.coming.iter().any(|coming| coming.id == id && !coming.is_withdrawn)
    }

    pub(super) fn remove(&mut self, id: ContenderId) {
        self.coming.retain(|coming| coming.id != id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.coming.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.coming.clear();
    }

    /// Returns the number of contenders that are not being withdrawn.
    pub(super) fn active(&self) -> usize {
        self.coming.iter().filter(|coming| !coming.is_withdrawn).count()
    }
}

/// The greatest number of contenders, so that many permits do not come in one by one.
pub(in crate::cohort) const MOST: usize = 8;
/// The time for which a contender stays that no call waits for: a call that has just had a permit often comes again.
const MOMENT: Duration = Duration::from_millis(5);
