//! The scenes that the simulation explores.

use crate::deadline::Contention;
use crate::local_queue::held::{Kind, Mode};

/// One scene: the calls of each process, and what may happen to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    /// `None` for a lock, and else the permits of a semaphore.
    pub(super) permits: Option<usize>,
    pub(super) calls: [&'static [Spec]; 2],
    pub(super) foreigner: Option<Mode>,
    pub(super) faults: usize,
    pub(super) pace: Pace,
    pub(super) choices: &'static [Choice],
}

/// Calls for one lock, of clients that are prompt and have no faults.
pub(super) const fn lock(calls: [&'static [Spec]; 2]) -> Setup {
    Setup { permits: None, calls, foreigner: None, faults: 0, pace: Pace::Prompt, choices: &[] }
}

/// The same for so many permits.
pub(super) const fn permits(permits: usize, calls: [&'static [Spec]; 2]) -> Setup {
    Setup { permits: Some(permits), ..lock(calls) }
}

impl Setup {
    pub(super) const fn may(self, choices: &'static [Choice]) -> Self {
        Self { choices, ..self }
    }

    pub(super) const fn faults(self, faults: usize) -> Self {
        Self { faults, ..self }
    }

    pub(super) const fn beside(self, mode: Mode) -> Self {
        Self { foreigner: Some(mode), ..self }
    }

    pub(super) const fn at_any_pace(self) -> Self {
        Self { pace: Pace::Any, ..self }
    }

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
