//! Decides on the work of a pool's task: contenders, permits that may be passed on later, and deadlines.

use std::time::Instant;

use crate::cohort::attendant::{Attendant, is_before};
use crate::cohort::tenancy::{Handle, Tenancy, TenancyId};

use super::Pool;
use super::contenders::{ContenderId, Move};

/// The next step of a pool's task.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cohort) enum Agenda {
    /// Contend for another permit.
    Enter(ContenderId),
    /// Withdraw a contender, because no call waits for its permit.
    Withdraw(ContenderId),
    /// Wait for a change, for at most this long.
    Sleep {
        until: Option<Instant>,
        /// The permits whose states are not known at the moment.
        parked: Vec<TenancyId>,
    },
    /// Nothing is left to do, and the task ends.
    Over,
}

impl<C, L: Handle, D: Default> Pool<C, L, D> {
    /// Returns the next step of the task, and takes note of it.
    pub(in crate::cohort) fn agenda(&mut self, now: Instant) -> Agenda {
        match self.contenders.advance(self.waiters.len(), now) {
            Some(Move::Enter(id)) => Agenda::Enter(id),
            Some(Move::Withdraw(id)) => Agenda::Withdraw(id),
            None if self.waiters.is_empty() && self.contenders.is_empty() => {
                self.attendant = Attendant::Absent;
                self.waiters.rest();
                Agenda::Over
            }
            None => self.rest(),
        }
    }

    fn rest(&mut self) -> Agenda {
        self.waiters.find_deadline(None);
        let until = self.soonest();
        let parked: Vec<_> = self.parked.iter().map(Tenancy::id).collect();
        self.attendant = Attendant::Asleep { until, watched: parked.clone() };
        Agenda::Sleep { until, parked }
    }

    /// Returns whether the task has something to do that it does not know of.
    pub(super) fn has_news(&self) -> bool {
        let waiting = self.waiters.len();
        let is_short = self.contenders.is_short(waiting);
        match &self.attendant {
            Attendant::Awake => false,
            Attendant::Absent => is_short,
            Attendant::Asleep { until, watched } => {
                let is_unwatched = |permit: &Tenancy<_>| !watched.contains(&permit.id());
                is_short
                    || self.contenders.has_to_leave(waiting)
                    || self.parked.iter().any(is_unwatched)
                    || is_before(self.soonest(), *until)
            }
        }
    }

    /// Returns an instant that is not later than the next deadline, or the end of the next contender.
    fn soonest(&self) -> Option<Instant> {
        let spare = self.contenders.spare_until(self.waiters.len());
        self.waiters.deadline().into_iter().chain(spare).min()
    }
}
