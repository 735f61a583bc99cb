//! Goes by the number of the last contender where that shows who is first. See `session::succession`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::path::NodePath;
use crate::queue::acquisition::{Node, Sight};
use crate::queue::claim::{Claim, Role};
use crate::queue::contender::Sequence;
use crate::session::Session;
use crate::session::ops::{Flight, Queue};
use crate::session::succession::{Key, Loan, Sweeper};

use super::resting::Kept;
use super::{Driver, Numbers};

impl Session {
    /// Borrows what is known of the queue of a lock.
    pub(super) fn borrow(self: &Arc<Self>, path: &NodePath, claim: &Claim, numbers: Numbers) -> Option<Loan> {
        let place = match claim {
            Claim::Place(place) if numbers == Numbers::Used => place,
            Claim::Place(_) | Claim::Permit { .. } => return None,
        };
        if let Role::Latch | Role::Permit = place.role {
            return None;
        }
        let key = Key { path: path.clone(), also_behind: place.also_behind.clone() };
        let loan = self.succession.lend(key, Instant::now());
        if self.succession.wake() == Sweeper::Asleep {
            self.spawn(sweep(self.clone()));
        }
        loan
    }

    /// Takes up what a contender of this queue, which honours no others, had borrowed when it was put to rest.
    pub(super) fn take_up(&self, path: &NodePath, kept: Kept) -> Option<Loan> {
        match kept {
            Kept::Nothing => None,
            Kept::Loan => self.succession.take_up(&Key { path: path.clone(), also_behind: Arc::default() }),
        }
    }
}

/// Forgets queues that are no longer used, until none is left or the session is over.
async fn sweep(session: Arc<Session>) {
    while session.over.run_until_cancelled(sleep(INTERVAL)).await.is_some() {
        if session.succession.sweep(Instant::now()) == Sweeper::Asleep {
            return;
        }
    }
}

impl Driver {
    /// Returns the number of the last contender, if it may serve, and the requests to be sent with the create.
    pub(super) fn last_number(&mut self) -> (Option<Sequence>, Flight) {
        let Some(loan) = &mut self.loan else {
            return (None, Flight::List);
        };
        let was_numbered = loan.has_last();
        let last = loan.take_last(self.epoch);
        // The passage of a numbered contender permits no list: see `passage`.
        let flight = if was_numbered {
            Flight::Nothing
        } else if loan.is_watched() {
            Flight::List
        } else {
            Flight::ListAndWatch
        };
        (last, flight)
    }

    /// Keeps the watch on the queue's node for the next acquisition.
    pub(super) fn keep_watching(&mut self, own: &Node, queue: Option<Queue>) {
        // A queue's node that is older than the own one was there all the time: it has a child.
        if let (Some(loan), Some(queue)) = (&mut self.loan, queue.filter(|queue| queue.zxid < own.zxid)) {
            loan.watch(queue.watch, self.epoch);
        }
    }

    /// Returns what the number of the last contender says, now that the answer to the create is there.
    pub(super) fn after(&mut self, last: Sequence) -> Sight {
        let epoch = self.session.link().epoch;
        match self.loan.as_mut().is_some_and(|loan| loan.is_current(epoch)) {
            true => Sight::After(last),
            false => Sight::Nothing,
        }
    }

    /// Leaves what was borrowed to the session while the contender rests. Returns `None` if something would be left out.
    pub(super) fn lay_down(&mut self) -> Option<Kept> {
        let has_number = self.loan.as_ref().is_some_and(Loan::has_last);
        if self.loan.is_some() && (has_number || self.numbers == Numbers::Ignored) {
            return None;
        }
        let loan = self.loan.take().map(Loan::lay_down);
        Some(loan.map_or(Kept::Nothing, |()| Kept::Loan))
    }

    /// Gives back what was borrowed, with the own number if that was first and is certainly deleted.
    pub(super) fn give_back(&mut self) {
        if let Some(loan) = self.loan.take() {
            loan.leave(self.machine.last_number().filter(|_| self.numbers == Numbers::Used));
        }
    }
}

/// The interval at which queues that are no longer used are looked for.
const INTERVAL: Duration = Duration::from_secs(10);
