//! The time limit of a call, which lock types, `hold` and `local_queue` share.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::LockError;

/// The reaction to contenders in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Contention {
    Wait,
    Leave,
}

/// The time that a call may take, and whether it waits for other clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// The wait requested by the caller. A duration too long for the clock, such as
    /// `Duration::MAX`, means no limit.
    pub(crate) wait: Duration,
    /// The part of the wait that is already spent.
    pub(crate) spent: Duration,
    pub(crate) contention: Contention,
}

impl Deadline {
    pub(crate) fn new(wait: Duration, contention: Contention) -> Self {
        Self { wait, spent: Duration::ZERO, contention }
    }

    /// Returns the deadline of a call that waits for the lock at `path` for at most `wait`, which must not be zero.
    pub(crate) fn within(wait: Duration, path: &str) -> Result<Self, LockError> {
        if wait.is_zero() {
            let reason = "must not be zero; use `try_lock` instead";
            return Err(LockError::InvalidWait { path: path.to_owned(), reason });
        }
        Ok(Self::new(wait, Contention::Wait))
    }

    /// Returns this deadline after `more` of its time has been spent.
    pub(crate) fn spent(self, more: Duration) -> Self {
        Self { spent: self.spent.saturating_add(more), ..self }
    }

    /// Lets the time run from the first question on. A call that does not ask needs no clock.
    pub(crate) fn running(self) -> impl Fn() -> Self {
        let started = OnceLock::new();
        move || match started.get() {
            Some(started) => self.spent(Instant::elapsed(started)),
            None => {
                started.get_or_init(Instant::now);
                self
            }
        }
    }

    pub(crate) fn left(self) -> Duration {
        if self.wait == Duration::MAX { self.wait } else { self.wait.saturating_sub(self.spent) }
    }
}
