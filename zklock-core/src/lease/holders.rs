//! The holders of one lease that the listeners know of, and how far its release is.

use crate::change::{Mutex, Signal};
use crate::error::LockError;
use crate::events::{Holding, Witness};

/// The holders of one lease: one after the other, or readers. Each is known by the number of earlier ones. Their holds are
/// ended outside of the mutex.
#[derive(Default)]
pub(super) struct Holders {
    register: Mutex<Register>,
    /// Signals that holders have left, and the end of the release.
    pub(super) changed: Signal,
}

#[derive(Default)]
struct Register {
    holders: Vec<Holder>,
    has_had_holder: bool,
    is_lost: bool,
    /// The outcome of the release.
    outcome: Option<Result<(), Box<LockError>>>,
}

/// A holder that comes after this many others.
pub(super) struct Holder {
    pub(super) handoff: u32,
    /// `None` once the listeners have been told that the lock is lost.
    holding: Option<Holding>,
    /// Whether the holder has given the lock back. No other holder has it yet.
    pub(super) has_returned: bool,
}

impl Holders {
    /// Adds a holder. Returns its hold if the lease is lost.
    pub(super) fn enter(&self, handoff: u32, holding: Holding) -> Option<Holding> {
        let mut register = self.register.lock();
        if !std::mem::replace(&mut register.has_had_holder, true) {
            holding.takes_turn();
        }
        let (holding, lost) = if register.is_lost { (None, Some(holding)) } else { (Some(holding), None) };
        if register.holders.is_empty() {
            // Most leases have one holder at a time.
            register.holders.reserve_exact(1);
        }
        register.holders.push(Holder { handoff, holding, has_returned: false });
        lost
    }

    /// Takes note that a holder has given the lock back.
    pub(super) fn give_back(&self, handoff: u32) {
        let mut register = self.register.lock();
        let own = register.holders.iter_mut().filter(|holder| holder.handoff == handoff);
        own.for_each(|holder| holder.has_returned = true);
    }

    /// Removes these holders, and returns their holds. Those that were told of the loss stay.
    pub(super) fn remove(&self, which: impl Fn(&Holder) -> bool) -> Vec<Holding> {
        let leaves = |holder: &mut Holder| holder.holding.is_some() && which(holder);
        let removed: Vec<_> =
            self.register.lock().holders.extract_if(.., leaves).filter_map(|holder| holder.holding).collect();
        if !removed.is_empty() {
            self.changed.notify();
        }
        removed
    }

    /// Ends the release.
    pub(super) fn end(&self, outcome: Result<(), LockError>) {
        self.register.lock().outcome = Some(outcome.map_err(Box::new));
        self.changed.notify();
    }

    /// Returns the outcome of the release, once it has ended.
    pub(super) fn outcome(&self) -> Option<Result<(), LockError>> {
        self.register.lock().outcome.clone().map(|outcome| outcome.map_err(|error| *error))
    }

    /// Returns the observers of the holders that have not lost the lock.
    pub(super) fn present(&self) -> Vec<Witness> {
        let register = self.register.lock();
        register.holders.iter().filter_map(|holder| Some(holder.holding.as_ref()?.witness())).collect()
    }

    /// Takes note of the loss, and returns the holds of these holders.
    pub(super) fn lose(&self, loses: impl Fn(&Holder) -> bool) -> Vec<Holding> {
        let mut register = self.register.lock();
        register.is_lost = true;
        let losers = register.holders.iter_mut().filter(|holder| loses(holder));
        losers.filter_map(|holder| holder.holding.take()).collect()
    }

    pub(super) fn has(&self, handoff: u32) -> bool {
        self.register.lock().holders.iter().any(|holder| holder.handoff == handoff)
    }
}
