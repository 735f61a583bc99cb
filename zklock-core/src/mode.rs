//! The way in which a lock is held, or wanted: a value that events, metrics and lists of participants share.
//!
//! Uses no other module of the crate.

/// The way in which a lock is held, or wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// A mutex, held by one participant at a time.
    Exclusive,
    /// The shared side of a read-write lock.
    Read,
    /// The exclusive side of a read-write lock.
    Write,
    /// One permit of a semaphore; in events, the permits of one call.
    Permit,
    /// Leadership of an election. A list of participants shows the candidate of a selector as `Exclusive`.
    Leader,
}

impl Mode {
    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Read => "read",
            Self::Write => "write",
            Self::Permit => "permit",
            Self::Leader => "leader",
        }
    }
}
