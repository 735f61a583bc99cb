//! The holders of one lease, and the parts of their lives that have to be ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::change::Signal;
use crate::error::LockError;
use crate::events::{Holding, Witness};
use crate::interleaving;
use crate::token::FencingToken;

/// The holders of one lease: one after the other, or readers. Their holds are ended outside of the mutex.
#[derive(Debug, Default)]
pub(super) struct Holders {
    register: Mutex<Register>,
    /// Signals a change to the holders that have given the lock back, and wait for the outcome.
    changed: Signal,
}

/// The holds that are to be ended, mostly one.
pub(super) type Parted = SmallVec<[Holding; 1]>;

#[derive(Debug, Default)]
struct Register {
    /// The holders in the order of their tokens.
    holders: SmallVec<[(FencingToken, Holder); 1]>,
    has_had_holder: bool,
    is_lost: bool,
    is_handed_over: bool,
    /// The outcome of the release.
    end: Option<Result<(), Box<LockError>>>,
}

#[derive(Debug)]
enum Holder {
    Holds(Holding),
    /// The holder has given the lock back, and nobody has it yet.
    Returned(Holding),
    /// The listeners have been told that the lock is lost.
    Lost,
}

impl Holders {
    /// Adds a holder. Returns its hold if the lease is lost.
    pub(super) fn enter(&self, token: FencingToken, holding: Holding) -> Option<Holding> {
        let mut register = self.register();
        if !std::mem::replace(&mut register.has_had_holder, true) {
            holding.takes_turn();
        }
        let (holder, lost) = match register.is_lost {
            false => (Holder::Holds(holding), None),
            true => (Holder::Lost, Some(holding)),
        };
        let place = register.place(token).unwrap_or_else(|place| place);
        register.holders.insert(place, (token, holder));
        lost
    }

    /// Takes note that a holder has given the lock back.
    pub(super) fn give_back(&self, token: FencingToken) {
        let mut register = self.register();
        let place = register.place(token).ok();
        if let Some((_, holder @ Holder::Holds(_))) = place.map(|place| &mut register.holders[place]) {
            *holder = holder.take().map_or(Holder::Lost, Holder::Returned);
        }
    }

    /// Removes a holder, and returns its hold if it has not ended.
    pub(super) fn remove(&self, token: FencingToken) -> Option<Holding> {
        let mut register = self.register();
        let place = register.place(token).ok()?;
        let (_, mut holder) = register.holders.remove(place);
        holder.take()
    }

    /// Removes those of these holders that have given the lock back, and returns their holds.
    pub(super) fn part(&self, which: impl Fn(FencingToken) -> bool) -> Parted {
        let mut parted = Parted::new();
        self.register().holders.retain(|(token, holder)| {
            let leaves = matches!(holder, Holder::Returned(_)) && which(*token);
            if leaves {
                parted.extend(holder.take());
            }
            !leaves
        });
        self.changed.notify();
        parted
    }

    /// Takes note that the request that releases the lock has been handed to the connection.
    pub(super) fn note_handed_over(&self) {
        self.register().is_handed_over = true;
        self.changed.notify();
    }

    /// Takes note of the end of the release.
    pub(super) fn note_end(&self, outcome: Result<(), LockError>) {
        self.register().end = Some(outcome.map_err(Box::new));
        self.changed.notify();
    }

    pub(super) fn is_handed_over(&self) -> bool {
        let register = self.register();
        register.is_handed_over || register.end.is_some()
    }

    /// Returns the outcome of the release, once it has ended.
    pub(super) fn end(&self) -> Option<Result<(), LockError>> {
        self.register().end.clone().map(|outcome| outcome.map_err(|error| *error))
    }

    /// Waits until there is an answer.
    pub(super) async fn until<T>(&self, answer: impl Fn(&Self) -> Option<T>) -> T {
        self.changed.until(|| answer(self)).await
    }

    /// Returns the observers of the holders that have not lost the lock.
    pub(super) fn present(&self) -> Vec<Witness> {
        let register = self.register();
        register.holders.iter().filter_map(|(_, holder)| Some(holder.holding()?.witness())).collect()
    }

    /// Takes note of the loss, and returns the holds of those that hold the lock.
    pub(super) fn lose(&self) -> Parted {
        self.lose_if(|holder| matches!(holder, Holder::Holds(_)))
    }

    /// Returns the holds of all that hold the lock or have given it back, because nobody has it any more.
    pub(super) fn clear(&self) -> Parted {
        self.lose_if(|_| true)
    }

    fn lose_if(&self, loses: impl Fn(&Holder) -> bool) -> Parted {
        let mut register = self.register();
        register.is_lost = true;
        let losers = register.holders.iter_mut().map(|(_, holder)| holder).filter(|holder| loses(holder));
        losers.filter_map(Holder::take).collect()
    }

    pub(super) fn has(&self, token: FencingToken) -> bool {
        self.register().place(token).is_ok()
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        interleaving::point();
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Register {
    /// Returns the place of a holder, or the one that it would have.
    fn place(&self, token: FencingToken) -> Result<usize, usize> {
        self.holders.binary_search_by_key(&token, |(token, _)| *token)
    }
}

impl Holder {
    fn holding(&self) -> Option<&Holding> {
        match self {
            Self::Holds(holding) | Self::Returned(holding) => Some(holding),
            Self::Lost => None,
        }
    }

    /// Takes the hold out, for the caller to end it.
    fn take(&mut self) -> Option<Holding> {
        match std::mem::replace(self, Self::Lost) {
            Self::Holds(holding) | Self::Returned(holding) => Some(holding),
            Self::Lost => None,
        }
    }
}
