//! The holders of one lease that the listeners know of, and how far its release is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::LockError;
use crate::events::{Holding, Witness};

/// The holders of one lease: one after the other, or readers. Each is known by the number of earlier ones. Their holds are
/// ended outside of the mutex.
#[derive(Debug, Default)]
pub(super) struct Holders {
    register: Mutex<Register>,
}

#[derive(Debug, Default)]
struct Register {
    /// The holders in their order.
    holders: Vec<Holder>,
    has_had_holder: bool,
    is_lost: bool,
    release: Release,
    /// The reason why the release failed.
    failure: Option<Box<LockError>>,
}

/// The progress of the release, as far as holders wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Release {
    #[default]
    Due,
    /// The request has been handed to the connection.
    HandedOver,
    Over,
}

/// A holder, who comes after this many others.
#[derive(Debug)]
enum Holder {
    Holds(u32, Holding),
    /// The holder has given the lock back, and nobody has it yet.
    Returned(u32, Holding),
    /// The listeners have been told that the lock is lost.
    Lost(u32),
}

impl Holders {
    /// Adds a holder. Returns its hold if the lease is lost.
    pub(super) fn enter(&self, handoff: u32, holding: Holding) -> Option<Holding> {
        let mut register = self.register();
        if !std::mem::replace(&mut register.has_had_holder, true) {
            holding.takes_turn();
        }
        let (holder, lost) = match register.is_lost {
            false => (Holder::Holds(handoff, holding), None),
            true => (Holder::Lost(handoff), Some(holding)),
        };
        let place = register.place(handoff).unwrap_or_else(|place| place);
        register.holders.insert(place, holder);
        lost
    }

    /// Takes note that a holder has given the lock back.
    pub(super) fn give_back(&self, handoff: u32) {
        let mut register = self.register();
        let place = register.place(handoff).ok();
        if let Some(holder @ Holder::Holds(..)) = place.map(|place| &mut register.holders[place])
            && let Some(holding) = holder.take()
        {
            *holder = Holder::Returned(handoff, holding);
        }
    }

    /// Removes a holder, and returns its hold if it has not ended.
    pub(super) fn remove(&self, handoff: u32) -> Option<Holding> {
        let mut register = self.register();
        let place = register.place(handoff).ok()?;
        register.holders.remove(place).take()
    }

    /// Removes those of these holders that have given the lock back, and returns their holds.
    pub(super) fn part(&self, which: impl Fn(u32) -> bool) -> Vec<Holding> {
        let mut parted = Vec::new();
        self.register().holders.retain_mut(|holder| {
            let leaves = matches!(holder, Holder::Returned(handoff, _) if which(*handoff));
            if leaves {
                parted.extend(holder.take());
            }
            !leaves
        });
        parted
    }

    /// Takes note that the request that releases the lock has been handed to the connection.
    pub(super) fn note_handed_over(&self) {
        let mut register = self.register();
        if register.release == Release::Due {
            register.release = Release::HandedOver;
        }
    }

    /// Takes note of the end of the release.
    pub(super) fn note_end(&self, outcome: Result<(), LockError>) {
        let mut register = self.register();
        (register.release, register.failure) = (Release::Over, outcome.err().map(Box::new));
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.register().release != Release::Due
    }

    /// Returns the outcome of the release, once it has ended.
    pub(super) fn end(&self) -> Option<Result<(), LockError>> {
        let register = self.register();
        let failure = register.failure.as_deref().cloned();
        (register.release == Release::Over).then(|| failure.map_or(Ok(()), Err))
    }

    /// Returns the observers of the holders that have not lost the lock.
    pub(super) fn present(&self) -> Vec<Witness> {
        let register = self.register();
        register.holders.iter().filter_map(|holder| Some(holder.holding()?.witness())).collect()
    }

    /// Takes note of the loss, and returns the holds of those that hold the lock.
    pub(super) fn lose(&self) -> Vec<Holding> {
        self.lose_if(|holder| matches!(holder, Holder::Holds(..)))
    }

    /// Returns the holds of all that hold the lock or have given it back, because nobody has it any more.
    pub(super) fn clear(&self) -> Vec<Holding> {
        self.lose_if(|_| true)
    }

    fn lose_if(&self, loses: impl Fn(&Holder) -> bool) -> Vec<Holding> {
        let mut register = self.register();
        register.is_lost = true;
        let losers = register.holders.iter_mut().filter(|holder| loses(holder));
        losers.filter_map(Holder::take).collect()
    }

    pub(super) fn has(&self, handoff: u32) -> bool {
        self.register().place(handoff).is_ok()
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Register {
    /// Returns the place of a holder, or the one that it would have.
    fn place(&self, handoff: u32) -> Result<usize, usize> {
        self.holders.binary_search_by_key(&handoff, Holder::handoff)
    }
}

impl Holder {
    fn handoff(&self) -> u32 {
        match self {
            Self::Holds(handoff, _) | Self::Returned(handoff, _) | Self::Lost(handoff) => *handoff,
        }
    }

    fn holding(&self) -> Option<&Holding> {
        match self {
            Self::Holds(_, holding) | Self::Returned(_, holding) => Some(holding),
            Self::Lost(_) => None,
        }
    }

    /// Takes the hold out, for the caller to end it.
    fn take(&mut self) -> Option<Holding> {
        let lost = Self::Lost(self.handoff());
        match std::mem::replace(self, lost) {
            Self::Holds(_, holding) | Self::Returned(_, holding) => Some(holding),
            Self::Lost(_) => None,
        }
    }
}
