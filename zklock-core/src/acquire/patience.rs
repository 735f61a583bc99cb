//! How long an attempt goes on.

use std::time::Duration;

use crate::error::LockError;
use crate::session::drive::Contention;

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// What the caller gave; `Duration::MAX` and all that a clock cannot count mean for ever.
    pub(crate) wait: Duration,
    pub(crate) spent: Duration,
    pub(crate) contention: Contention,
}

impl Patience {
    pub(crate) fn new(wait: Duration, contention: Contention) -> Self {
        Self { wait, spent: Duration::ZERO, contention }
    }

    /// Bounds the attempt at the lock at `path` by a time that the caller gave.
    pub(crate) fn within(wait: Duration, path: &str) -> Result<Self, LockError> {
        if wait.is_zero() {
            let reason = "zero leaves no time to ask; use `try_lock`";
            return Err(LockError::InvalidWait { path: path.to_owned(), reason });
        }
        Ok(Self::new(wait, Contention::Wait))
    }

    /// The patience of the same attempt, of which so much more is spent.
    pub(crate) fn spent(self, more: Duration) -> Self {
        Self { spent: self.spent.saturating_add(more), ..self }
    }

    pub(crate) fn left(self) -> Duration {
        if self.wait == Duration::MAX { self.wait } else { self.wait.saturating_sub(self.spent) }
    }
}
