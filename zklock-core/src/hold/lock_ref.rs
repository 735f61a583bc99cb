//! A lock, the way to enter it, and the rules of entering again.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::contend::{Count, Permits, Wanted};
use crate::error::{Holder, LockError, Phase};
use crate::event::Subject;
use crate::local_queue;
use crate::mode::Mode;
use crate::path::NodePath;
use crate::queue::predicate::Place;

/// A lock, and the way to enter it.
#[derive(Clone, Debug)]
pub(crate) struct LockRef {
    pub(crate) path: NodePath,
    pub(crate) access: Access,
    /// What a call asks for on the servers: a place in the queue, permits, or the place of a leader.
    pub(crate) wanted: Wanted,
    /// The name of the lock in events and metrics.
    pub(crate) label: Cow<'static, str>,
}

impl LockRef {
    pub(crate) fn new(path: NodePath, access: Access, wanted: Wanted) -> Self {
        Self { path, access, wanted, label: UNNAMED }
    }

    /// Returns a lock that one call at a time enters in this way, or several readers.
    pub(crate) fn of(path: NodePath, access: Access) -> Self {
        let wanted = match access {
            Access::NonReentrantMutex => Wanted::Permits(Permits { wanted: 1, count: Count::Agreed(1) }),
            access => Wanted::Place(Place { role: access.mode(), also_behind: Arc::default() }),
        };
        Self::new(path, access, wanted)
    }

    /// Makes the calls for this lock also wait for contenders of other clients with these name patterns.
    pub(crate) fn wait_behind(&mut self, names: &[String]) {
        if let Wanted::Place(place) = &mut self.wanted {
            place.also_behind = names.into();
        }
    }

    /// Returns the description of this lock for events.
    pub(crate) fn subject(&self, group: Option<u64>) -> Subject<'_> {
        Subject { path: &self.path, label: &self.label, mode: self.access.mode(), group }
    }

    /// Returns the error of a call that has waited this long for others.
    pub(crate) fn timeout(&self, waited: Duration, holder: Option<Holder>) -> LockError {
        let path = self.path.relative().to_owned();
        LockError::Timeout { path, waited, phase: Phase::Queued, holder }
    }

    /// Returns the error of a call that does not wait for others.
    pub(crate) fn contended(&self, client: &Client) -> LockError {
        self.timeout(Duration::ZERO, local_queue::holder(client, &self.path))
    }
}

/// The name of locks without one.
pub(crate) const UNNAMED: Cow<'static, str> = Cow::Borrowed("unnamed");

/// The way in which a lock is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Mutex,
    Read,
    Write,
    NonReentrantMutex,
    /// Permits of a semaphore. Every call takes its own.
    Permits,
    /// The position of a leader, which no call enters.
    Leader,
}

/// The meaning of an entry inside of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reentry {
    /// It takes this many permits of the outer entry: all of them, or one if it reads.
    Inside(u32),
    /// The call would wait for itself.
    Deadlock,
    /// The call would wait for itself, and perhaps for other readers.
    Upgrade,
}

/// The permits of an entry's gate. One reader inside takes one of them, and any other entry takes all.
pub(super) const GATE_PERMITS: u32 = 1 << 16;

impl Access {
    /// Returns the mode that others see.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Mutex | Self::NonReentrantMutex => Mode::Exclusive,
            Self::Read => Mode::Read,
            Self::Write => Mode::Write,
            Self::Permits => Mode::Permit,
            Self::Leader => Mode::Leader,
        }
    }

    /// Returns the meaning of an entry inside of one like this, or `None` if they are independent.
    pub(super) fn reentry(self, inner: Self) -> Option<Reentry> {
        match (self, inner) {
            (Self::Mutex, Self::Mutex) | (Self::Write, Self::Write) => Some(Reentry::Inside(GATE_PERMITS)),
            (Self::Read | Self::Write, Self::Read) => Some(Reentry::Inside(1)),
            (Self::Read, Self::Write) => Some(Reentry::Upgrade),
            (Self::NonReentrantMutex, Self::NonReentrantMutex) => Some(Reentry::Deadlock),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_entered_again_and_reading_may_not_become_writing() {
        use Access::{Mutex, NonReentrantMutex, Permits, Read, Write};
        let all = [Mutex, Read, Write, NonReentrantMutex, Permits];
        let (alone, shared) = (Some(Reentry::Inside(GATE_PERMITS)), Some(Reentry::Inside(1)));
        assert_eq!(
            all.map(|outer| all.map(|inner| outer.reentry(inner))),
            [
                [alone, None, None, None, None],
                [None, shared, Some(Reentry::Upgrade), None, None],
                [None, shared, alone, None, None],
                [None, None, None, Some(Reentry::Deadlock), None],
                [None; 5],
            ]
        );
    }
}
