//! The ways in which generated code enters a read-write lock again.

use crate::client::ClientId;
use crate::hold::{self, Entry, Sought};

use super::{ReadGuard, WriteGuard};

impl ClientId {
    /// Enters the lock at this path again for reading, to run a body at once, if the call holds it and nothing is in the way.
    #[doc(hidden)]
    #[inline]
    pub fn read_again(self, path: &str) -> Option<ReadGuard> {
        hold::enter_again_to_run(Sought::new(self, path, Entry::Read)).map(ReadGuard::new)
    }

    /// Enters the lock at this path again for writing, to run a body at once, if the call holds it and nothing is in the way.
    #[doc(hidden)]
    #[inline]
    pub fn write_again(self, path: &str) -> Option<WriteGuard> {
        hold::enter_again_to_run(Sought::new(self, path, Entry::Write)).map(WriteGuard::new)
    }
}
