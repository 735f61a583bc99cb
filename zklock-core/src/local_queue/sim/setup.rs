//! The scenes that the simulation explores.

use crate::local_queue::held::{Kind, Side};
use crate::local_queue::state::Manner;

/// One scene: the calls of each process, and what may happen to them.
#[derive(Debug)]
pub(super) struct Setup {
    /// `None` for a lock, and else the permits of a semaphore.
    pub(super) permits: Option<usize>,
    pub(super) calls: [&'static [Spec]; 2],
    pub(super) foreigner: Option<Side>,
    pub(super) faults: usize,
    pub(super) kinds: &'static [Fault],
    /// The number of bounds that pass.
    pub(super) ticks: u32,
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
    pub(super) side: Side,
    pub(super) manner: Manner,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Suspend,
    Outsider,
    Revoke,
    UnknownWrite,
    Refuse,
    Close,
}

const fn wait(side: Side) -> Spec {
    Spec { side, manner: Manner::Wait, is_bounded: false }
}

pub(super) const LOCK: Spec = wait(Side::Exclusive);
pub(super) const READ: Spec = wait(Side::Shared);
pub(super) const TRY: Spec = Spec { manner: Manner::Try, ..LOCK };
pub(super) const TRY_READ: Spec = Spec { manner: Manner::Try, ..READ };
pub(super) const BOUNDED: Spec = Spec { is_bounded: true, ..LOCK };
