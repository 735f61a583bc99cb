//! One call in line.

use std::time::Instant;

/// The identity of a call, and its place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId(pub(super) u64);

/// The side of a lock on which a call, or the node of a client, stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Shared,
    Exclusive,
}

/// What the calls of a line wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// One node, which they share.
    Lock,
    /// Sets of `each` permits, one set for each call. No client can hold more than `most` sets, if that is known.
    Permits { each: u32, most: Option<usize> },
}

/// Whether a call waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    Wait,
    Try,
}

/// One call in line.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Call<C> {
    pub(super) id: CallId,
    pub(super) side: Side,
    pub(super) manner: Manner,
    /// `None` waits forever.
    pub(super) deadline: Option<Instant>,
    /// `None` once the caller no longer waits.
    pub(super) caller: Option<C>,
}

impl<C> Call<C> {
    pub(super) fn is_alive(&self) -> bool {
        self.caller.is_some()
    }

    /// Takes the living call out, and leaves a dead one in its place.
    pub(super) fn take(&mut self) -> Self {
        let Self { id, side, manner, deadline, .. } = *self;
        Self { id, side, manner, deadline, caller: self.caller.take() }
    }

    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}
