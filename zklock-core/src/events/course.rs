//! The course of a life: the events that it may have next, and the order in which they are sent.

use std::time::{Duration, Instant};

use smallvec::{SmallVec, smallvec};

use crate::error::{LockError, LossReason};
use crate::token::FencingToken;

use super::event::LockEventKind;

/// The course of one life. Changes of several threads make one sequence of events.
#[derive(Debug)]
pub(super) struct Course {
    stage: Stage,
    /// The beginning of the stage.
    since: Instant,
    /// The events that are not sent yet, because another thread is sending those before them.
    unsent: SmallVec<[LockEventKind; 1]>,
    is_sending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Holds {
        token: FencingToken,
        /// The number of nodes that are held, which end one by one.
        nodes: usize,
    },
    Over,
}

/// The end of the hold of one node.
#[derive(Debug)]
pub(super) enum Parting {
    Released,
    PassedOn,
    Lost(LossReason),
    Failed(LockError),
}

/// Whether a life goes on after a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Being {
    Attempt,
    Candidate,
}

impl Course {
    pub(super) fn begin() -> Self {
        let unsent = smallvec![LockEventKind::Begun];
        Self { stage: Stage::Waits, since: Instant::now(), unsent, is_sending: false }
    }

    /// Takes note of an event of the wait.
    pub(super) fn waits(&mut self, kind: LockEventKind) {
        if self.stage == Stage::Waits {
            self.unsent.push(kind);
        }
    }

    /// Takes note of the end of the wait without a hold.
    pub(super) fn ends(&mut self, kind: impl FnOnce(Duration) -> LockEventKind) {
        if self.stage == Stage::Waits {
            self.unsent.push(kind(self.since.elapsed()));
            self.stage = Stage::Over;
        }
    }

    /// Takes note of the beginning of a hold of this many nodes.
    pub(super) fn holds(&mut self, being: Being, fencing_token: FencingToken, nodes: usize) {
        if self.stage == Stage::Waits {
            let waited = self.enter(Stage::Holds { token: fencing_token, nodes });
            self.unsent.push(match being {
                Being::Attempt => LockEventKind::Acquired { fencing_token, waited },
                Being::Candidate => LockEventKind::Elected { fencing_token, waited },
            });
        }
    }

    /// Takes note of an event of the hold.
    pub(super) fn meanwhile(&mut self, kind: impl FnOnce(FencingToken) -> LockEventKind) {
        if let Stage::Holds { token, .. } = self.stage {
            self.unsent.push(kind(token));
        }
    }

    /// Takes note of the end of the hold of one node. The hold ends with its last node, or with the first one that is
    /// lost or not released.
    pub(super) fn parts(&mut self, being: Being, parting: Parting) {
        let Stage::Holds { token: fencing_token, nodes } = self.stage else { return };
        if nodes > 1 && matches!(parting, Parting::Released | Parting::PassedOn) {
            self.stage = Stage::Holds { token: fencing_token, nodes: nodes - 1 };
            return;
        }
        let held = self.enter(match being {
            Being::Attempt => Stage::Over,
            Being::Candidate => Stage::Waits,
        });
        self.unsent.push(match (parting, being) {
            (Parting::Lost(reason), _) => LockEventKind::Lost { fencing_token, held, reason },
            (Parting::Failed(error), _) => LockEventKind::ReleaseFailed { fencing_token, held, error },
            (_, Being::Candidate) => LockEventKind::Resigned { fencing_token, held },
            (Parting::Released, Being::Attempt) => LockEventKind::Released { fencing_token, held },
            (Parting::PassedOn, Being::Attempt) => LockEventKind::PassedOn { fencing_token, held },
        });
    }

    /// Enters a stage, and returns the length of the one before.
    fn enter(&mut self, stage: Stage) -> Duration {
        let now = Instant::now();
        self.stage = stage;
        now.duration_since(std::mem::replace(&mut self.since, now))
    }

    /// Returns whether this thread is to send what is unsent: no other thread does.
    pub(super) fn may_send(&mut self) -> bool {
        !std::mem::replace(&mut self.is_sending, true)
    }

    /// Returns the next event to send. After `None`, other threads may send.
    pub(super) fn next(&mut self) -> Option<LockEventKind> {
        let next = (!self.unsent.is_empty()).then(|| self.unsent.remove(0));
        self.is_sending = next.is_some();
        next
    }
}
