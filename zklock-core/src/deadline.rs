//! The time limit of a call, which lock types, `hold` and `local_queue` share.

use std::time::{Duration, Instant};

use crate::error::LockError;

/// The reaction to contenders in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Contention {
    Wait,
    Leave,
}

/// The time that a call may take, and whether it waits for other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Deadline {
    /// The wait requested by the caller. `Duration::MAX` means no limit.
    pub(crate) wait: Duration,
    pub(crate) started: Instant,
    pub(crate) contention: Contention,
}

impl Deadline {
    /// Returns the deadline of a call that begins now.
    pub(crate) fn new(wait: Duration, contention: Contention) -> Self {
        Self { wait, started: Instant::now(), contention }
    }

    /// Returns the deadline of a call that waits for the lock at `path` for at most `wait`, which must not be zero.
    pub(crate) fn within(wait: Duration, path: &str) -> Result<Self, LockError> {
        if wait.is_zero() {
            let reason = "must not be zero; use `try_lock` instead";
            return Err(LockError::InvalidWait { path: path.to_owned(), reason });
        }
        Ok(Self::new(wait, Contention::Wait))
    }

    /// Returns the end of the wait. `None` if that is beyond the range of the clock.
    pub(crate) fn end(self) -> Option<Instant> {
        self.started.checked_add(self.wait)
    }

    /// Returns the part of the wait that is left.
    pub(crate) fn left(self) -> Duration {
        if self.wait == Duration::MAX { self.wait } else { self.wait.saturating_sub(self.started.elapsed()) }
    }
}
