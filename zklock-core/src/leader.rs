//! Elections: one leader among candidates, in the forms of Curator's `LeaderSelector` and `LeaderLatch`.
//!
//! Uses the layers below: `once`, `guard`, `participant`, `hold`, `acquire`, `client`, `lease`, `session`,
//! `queue`, `events`, `path`, `mode`, `token` and `error`.
//!
//! * [`election`]: the settings of a candidate, and the entry into an election.
//! * [`latch`]: a candidate that leads from its election until it is closed; [`campaign`] is its task.
//! * [`changes`]: the changes of a latch between leading and not leading.
//! * [`selector`]: a candidate that leads while a callback runs.
//! * [`leadership`]: one term of either.
//! * [`office`]: the position that a candidate runs for.
//! * [`roster`]: the shared candidates of a client, one per path.

mod campaign;
mod changes;
mod election;
mod latch;
mod leadership;
mod office;
mod roster;
mod selector;
#[cfg(test)]
mod staged;

use crate::client::Client;
use crate::error::LockError;

pub use self::changes::LeaderChanges;
pub use self::election::Election;
pub use self::latch::LeaderLatch;
pub use self::leadership::{Call, Leadership};
pub use self::office::Policy;
pub use self::roster::Leader;
pub use self::selector::LeaderSelector;
pub use self::selector::control::{Ended, Verdict};

impl Client {
    /// Returns the election at `path`, to be configured and entered.
    ///
    /// No request is sent.
    ///
    /// # Errors
    ///
    /// The same as [`mutex`](Self::mutex).
    pub fn election(&self, path: impl AsRef<str>) -> Result<Election, LockError> {
        Ok(Election::new(self.clone(), self.path(path)?))
    }

    /// Enters the election at `path` with the default settings; see [`Election::latch`].
    ///
    /// # Errors
    ///
    /// The same as [`mutex`](Self::mutex).
    pub fn leader_latch(&self, path: impl AsRef<str>) -> Result<LeaderLatch, LockError> {
        Ok(self.election(path)?.latch())
    }

    /// Enters the election at `path` with the default settings, and leads while `callback` runs; see
    /// [`Election::select`].
    ///
    /// # Errors
    ///
    /// The same as [`mutex`](Self::mutex).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let selector = client.leader_selector("/sweeper", |term| async move {
    ///     println!("leading with epoch {}", term.fencing_token());
    /// })?;
    /// selector.requeue();
    /// # Ok(())
    /// # }
    /// ```
    pub fn leader_selector<F, R>(
        &self,
        path: impl AsRef<str>,
        callback: F,
    ) -> Result<LeaderSelector, LockError>
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        Ok(self.election(path)?.select(callback))
    }

    /// Returns this client's candidate at `path`, which all callers share.
    ///
    /// No request is sent until the candidate joins the election.
    ///
    /// # Errors
    ///
    /// The same as [`mutex`](Self::mutex).
    pub fn leader(&self, path: impl AsRef<str>) -> Result<Leader, LockError> {
        Leader::new(self.clone(), path.as_ref())
    }

    /// Returns the question whether this client leads at `path`, unless it is known to be no candidate there or to follow.
    ///
    /// The answer may tell others that a term has been lost, so the caller asks without a lock.
    #[doc(hidden)]
    pub fn may_lead(&self, path: &str) -> Option<impl FnOnce() -> bool + use<>> {
        roster::may_lead(self, path)
    }

    /// Returns whether this client's candidate at `path` has its answer from the election, and does not lead, for generated
    /// code.
    #[doc(hidden)]
    pub fn follows(&self, path: &str) -> bool {
        roster::follows(self, path)
    }
}
