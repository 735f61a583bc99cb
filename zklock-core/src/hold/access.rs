//! The ways to enter a lock, and the rules of entering again.

use crate::mode::Mode;

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
