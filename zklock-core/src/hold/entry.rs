//! The kinds of entry into a lock, and the relation of an inner entry to an outer one.

use crate::mode::Mode;

/// The way in which a lock is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Mutex,
    Read,
    Write,
    /// A mutex that is not reentrant.
    Sole,
    /// Permits of a semaphore. Every call takes its own.
    Permits,
    /// The office of a leader, which no call enters.
    Office,
}

/// The relation of an entry to the hold around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The entry enters the hold again, without a request.
    Again(Again),
    /// The call would wait for itself.
    Reentrant,
    /// The call would wait for itself, and perhaps for other readers.
    Upgrade,
}

/// Whether an entry shares the hold around it with its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Alone,
    Shared,
}

impl Entry {
    /// Returns the mode that others see.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Mutex | Self::Sole => Mode::Exclusive,
            Self::Read => Mode::Read,
            Self::Write => Mode::Write,
            Self::Permits => Mode::Permit,
            Self::Office => Mode::Leader,
        }
    }
}

impl Relation {
    /// Returns the relation of two entries into one lock, or `None` if they are independent.
    pub(super) fn of(outer: Entry, inner: Entry) -> Option<Self> {
        match (outer, inner) {
            (Entry::Mutex, Entry::Mutex) | (Entry::Write, Entry::Write) => Some(Self::Again(Again::Alone)),
            (Entry::Read | Entry::Write, Entry::Read) => Some(Self::Again(Again::Shared)),
            (Entry::Read, Entry::Write) => Some(Self::Upgrade),
            (Entry::Sole, Entry::Sole) => Some(Self::Reentrant),
            _ => None,
        }
    }
}

impl Again {
    /// Returns the number of permits that the entry takes of those of its hold.
    pub(super) const fn permits(self) -> u32 {
        match self {
            Self::Alone => 1 << 16,
            Self::Shared => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_entered_again_and_reading_may_not_become_writing() {
        use Entry::{Mutex, Permits, Read, Sole, Write};
        let relations = [Mutex, Read, Write, Sole, Permits]
            .map(|outer| [Mutex, Read, Write, Sole, Permits].map(|inner| Relation::of(outer, inner)));
        let (alone, shared) = (Some(Relation::Again(Again::Alone)), Some(Relation::Again(Again::Shared)));
        assert_eq!(
            relations,
            [
                [alone, None, None, None, None],
                [None, shared, Some(Relation::Upgrade), None, None],
                [None, shared, alone, None, None],
                [None, None, None, Some(Relation::Reentrant), None],
                [None; 5],
            ]
        );
    }
}
