//! The holders of one lease that are reported to the listeners.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::LockError;
use crate::token::FencingToken;

/// The holders of one lease that are reported to the listeners: one after the other, or readers.
#[derive(Debug, Default)]
pub(super) struct Holders {
    register: Mutex<Register>,
    /// Signals a change to the holders that have given the lock back, and wait for the outcome.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Register {
    holders: BTreeMap<FencingToken, Stage>,
    is_lost: bool,
    is_handed_over: bool,
    /// The outcome of the release.
    end: Option<Result<(), LockError>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Holds,
    /// The holder has given the lock back, and nobody has it yet.
    Returned,
    /// The holder has been told that the lock is lost.
    Lost,
}

impl Holders {
    /// Adds a holder. Returns `false` if the lease is lost.
    pub(super) fn enter(&self, token: FencingToken) -> bool {
        let mut register = self.register();
        let is_lost = register.is_lost;
        register.holders.insert(token, if is_lost { Stage::Lost } else { Stage::Holds });
        !is_lost
    }

    /// Takes note that a holder has given the lock back.
    pub(super) fn give_back(&self, token: FencingToken) {
        if let Some(stage @ Stage::Holds) = self.register().holders.get_mut(&token) {
            *stage = Stage::Returned;
        }
    }

    /// Removes those of these holders that have given the lock back, and returns them.
    pub(super) fn part(&self, which: impl Fn(FencingToken) -> bool) -> Vec<FencingToken> {
        let mut parted = Vec::new();
        self.register().holders.retain(|token, stage| {
            let leaves = *stage == Stage::Returned && which(*token);
            if leaves {
                parted.push(*token);
            }
            !leaves
        });
        self.changed.notify_waiters();
        parted
    }

    /// Takes note that the request that releases the lock has been handed to the connection.
    pub(super) fn note_handed_over(&self) {
        self.register().is_handed_over = true;
        self.changed.notify_waiters();
    }

    /// Takes note of the end of the release.
    pub(super) fn note_end(&self, outcome: Result<(), LockError>) {
        self.register().end = Some(outcome);
        self.changed.notify_waiters();
    }

    pub(super) fn is_handed_over(&self) -> bool {
        let register = self.register();
        register.is_handed_over || register.end.is_some()
    }

    /// Returns the outcome of the release, once it has ended.
    pub(super) fn end(&self) -> Option<Result<(), LockError>> {
        self.register().end.clone()
    }

    /// Waits until there is an answer.
    pub(super) async fn until<T>(&self, answer: impl Fn(&Self) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(answer) = answer(self) {
                return answer;
            }
            changed.await;
        }
    }

    /// Returns the holders that have not lost the lock.
    pub(super) fn present(&self) -> Vec<FencingToken> {
        let register = self.register();
        let present = register.holders.iter().filter(|(_, stage)| **stage != Stage::Lost);
        present.map(|(token, _)| *token).collect()
    }

    /// Takes note of the loss, and returns those that hold the lock.
    pub(super) fn lose(&self) -> Vec<FencingToken> {
        self.lose_in(&[Stage::Holds])
    }

    /// Takes note of a loss before the release has ended, and returns those that hold the lock or have given it back.
    pub(super) fn lose_all(&self) -> Vec<FencingToken> {
        self.lose_in(&[Stage::Holds, Stage::Returned])
    }

    fn lose_in(&self, stages: &[Stage]) -> Vec<FencingToken> {
        let mut register = self.register();
        register.is_lost = true;
        let mut lost = Vec::new();
        for (token, stage) in register.holders.iter_mut().filter(|(_, stage)| stages.contains(stage)) {
            *stage = Stage::Lost;
            lost.push(*token);
        }
        lost
    }

    pub(super) fn has(&self, token: FencingToken) -> bool {
        self.register().holders.contains_key(&token)
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
