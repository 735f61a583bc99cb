//! The scenes that the simulation explores.

use crate::deadline::Contention;
use crate::local_queue::held::{Kind, Mode};

/// One scene: the calls of each process, and what may happen to them.
#[derive(Debug)]
pub(super) struct Setup {
    /// `None` for a lock, and else the permits of a semaphore.
    pub(super) permits: Option<usize>,
    pub(super) calls: [&'static [Spec]; 2],
    pub(super) foreigner: Option<Mode>,
    pub(super) faults: usize,
    pub(super) pace: Pace,
    pub(super) choices: &'static [Choice],
}

impl Setup {
    pub(super) fn kind(&self) -> Kind {
        self.permits.map_or(Kind::Lock, |permits| Kind::Permits { each: 1, most: Some(permits) })
    }
}

/// How promptly tasks run, and messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Before anything else happens.
    Prompt,
    /// At any time.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spec {
    pub(super) mode: Mode,
    pub(super) contention: Contention,
    /// Whether it waits for one bound only.
    pub(super) is_bounded: bool,
}

/// The actions of callers besides waiting, holding and giving back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Leave,
    Write,
    Downgrade,
}

const fn wait(mode: Mode) -> Spec {
    Spec { mode, contention: Contention::Wait, is_bounded: false }
}

pub(super) const LOCK: Spec = wait(Mode::Exclusive);
pub(super) const READ: Spec = wait(Mode::Shared);
pub(super) const TRY: Spec = Spec { contention: Contention::Leave, ..LOCK };
pub(super) const TRY_READ: Spec = Spec { contention: Contention::Leave, ..READ };
pub(super) const BOUNDED: Spec = Spec { is_bounded: true, ..LOCK };
