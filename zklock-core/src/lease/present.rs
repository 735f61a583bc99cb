//! The state of a lease at present, which each step of a body under a lock asks for.

use super::state::LeaseState;
use super::tenure::Tenure;
use crate::error::{LockError, LossReason};

impl Tenure {
    /// Returns the current state, by the lease clock and without I/O.
    pub(crate) fn state(&self) -> LeaseState {
        match self.loss_by_now() {
            Some(reason) => LeaseState::Lost(reason),
            None if self.is_confirmed() => LeaseState::Held,
            None => LeaseState::Suspended,
        }
    }

    /// Returns whether the servers have confirmed the lease since the connection last broke.
    pub(super) fn is_confirmed(&self) -> bool {
        self.session.link().is_on(self.sentry.connection())
    }

    /// Fails if the lock is lost.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), LockError> {
        let is_certain = self.loss().is_none()
            && !self.session.is_over()
            && self.session.clock().is_valid()
            && !self.tasks.is_forked();
        if is_certain { Ok(()) } else { self.check_again() }
    }

    #[cold]
    #[inline(never)]
    fn check_again(&self) -> Result<(), LockError> {
        self.loss_by_now().map_or(Ok(()), |reason| Err(self.lost_error(reason)))
    }

    /// Returns the reason for a loss that is known, or that the session and the lease clock show now.
    fn loss_by_now(&self) -> Option<LossReason> {
        let known = self.loss();
        if known.is_some() {
            return known;
        }
        if self.tasks.is_forked() {
            // Listeners are not told, because the locks on the way to them may be taken forever.
            return Some(LossReason::SessionEnded);
        }
        if self.session.is_over() {
            return Some(self.lose(LossReason::SessionEnded));
        }
        (!self.session.clock().is_valid()).then(|| self.lose(LossReason::LeaseExpired))
    }
}
