//! One leader among candidates: elections, in the forms of Curator's `LeaderSelector` and `LeaderLatch`.
//!
//! * [`roster`]: the candidates that a client has by itself, one at each path for all who ask.
//! * [`latch`]: leads from its election until it is closed; [`campaign`] is its work.
//! * [`selector`]: leads while a callback runs.
//! * [`leadership`]: one term, which both have.
//! * [`office`]: what is run for, and how.

mod campaign;
mod election;
mod latch;
mod leadership;
mod office;
mod roster;
mod selector;

use crate::client::Client;
use crate::error::LockError;

pub use self::election::Election;
pub use self::latch::{LeaderChanges, LeaderLatch};
pub use self::leadership::Leadership;
pub use self::office::Policy;
pub use self::roster::Leader;
pub use self::selector::LeaderSelector;
pub use self::selector::control::{Ended, Verdict};

impl Client {
    /// The election at `path`, to be set up and entered.
    ///
    /// Nothing is sent.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn election(&self, path: impl AsRef<str>) -> Result<Election, LockError> {
        Ok(Election::new(self.clone(), self.path(path)?))
    }

    /// Enters the election at `path` with all defaults; see [`Election::latch`].
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn leader_latch(&self, path: impl AsRef<str>) -> Result<LeaderLatch, LockError> {
        Ok(self.election(path)?.latch())
    }

    /// Enters the election at `path` with all defaults, and leads while `callback` runs; see [`Election::select`].
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
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

    /// The one candidate of this client at `path`, which all who ask for it share.
    ///
    /// Nothing is sent before it joins the election.
    ///
    /// # Errors
    ///
    /// Those of [`mutex`](Self::mutex).
    pub fn leader(&self, path: impl AsRef<str>) -> Result<Leader, LockError> {
        Leader::new(self.clone(), path.as_ref())
    }
}
