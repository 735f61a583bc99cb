//! Elections: one leader among candidates, in the forms of Curator's `LeaderSelector` and `LeaderLatch`.
//!
//! * [`election`]: the settings that users choose, and the list of the candidates.
//! * [`latch`]: a candidate that leads from its election until it is closed, and its task.
//! * [`selector`]: a candidate that leads while a callback runs: one latch after another.
//! * [`leadership`]: one term of either.
//!
//! [`Leader`] is the candidate that all callers of a client share.

mod election;
mod latch;
mod leadership;
mod selector;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::change::Mutex;
use crate::client::Client;
use crate::error::LockError;
use crate::participant::Participant;

pub use self::election::{Election, Policy};
pub use self::latch::{LeaderChanges, LeaderLatch};
pub use self::leadership::{Call, Leadership};
pub use self::selector::{Ended, LeaderSelector, Verdict};

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
        Ok(Leader { client: self.clone(), election: self.election(path)?.without_client() })
    }
}

/// The candidate of a client in an election, which all callers share.
///
/// It joins the election at the first call of [`join`](Self::join), [`term`](Self::term) or
/// [`leadership`](Self::leadership), and stays in it until its client is shut down or dropped, and the bodies under its
/// term have ended. If the servers
/// refuse it, it tries again after a pause, as a [`LeaderLatch`] does. Cheap to clone.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let leader = client.leader("/sweeper")?;
/// if let Some(term) = leader.term().await? {
///     term.set_data("/swept", "today").await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Leader {
    client: Client,
    election: Election,
}

impl Leader {
    /// Returns the path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.election.path()
    }

    /// Names the candidate in events and metrics; see [`Mutex::named`](crate::Mutex::named). The name counts if this
    /// handle is the first one to join the election.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { election: self.election.named(name), ..self }
    }

    /// Joins the election, waits up to two seconds for its first answer, and returns whether this client leads. Without
    /// an answer in that time it returns `false`.
    ///
    /// If this client has already joined, no request is sent.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`]. The candidate stays in the election, and tries again on its
    /// own.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn join(&self) -> Result<bool, LockError> {
        let latch = self.enter()?;
        settled(&latch, SETTLE).await?;
        Ok(latch.is_leader())
    }

    /// Returns whether this client leads at this instant, from memory; `false` before it has joined.
    pub fn is_leader(&self) -> bool {
        self.joined().is_some_and(|latch| latch.is_leader())
    }

    /// Returns, from memory, the error for which the candidate does not run at present: see
    /// [`LeaderLatch::failure`].
    ///
    /// The result is `None` before this client has joined.
    pub fn failure(&self) -> Option<LockError> {
        self.joined().and_then(|latch| latch.failure())
    }

    /// Returns the term of this client, or `None` if it does not lead.
    ///
    /// The first call joins the election. A call in the first two seconds after that waits for the first
    /// answer of the election, so that a lone candidate does not take itself for a follower. All other calls
    /// are answered from memory.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`]. While the candidate cannot run, each call returns its last
    /// error.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn term(&self) -> Result<Option<Leadership>, LockError> {
        let latch = self.enter()?;
        settled(&latch, SETTLE.saturating_sub(latch.since.elapsed())).await?;
        Ok(latch.current())
    }

    /// Joins the election, and waits until this client leads.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn leadership(&self) -> Result<Leadership, LockError> {
        self.enter()?.leadership().await
    }

    /// Joins the election, and waits until this client leads, for at most `wait`.
    ///
    /// # Errors
    ///
    /// The same as [`LeaderLatch::leadership_timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate stays in the election.
    pub async fn leadership_timeout(&self, wait: Duration) -> Result<Leadership, LockError> {
        self.enter()?.leadership_timeout(wait).await
    }

    /// Resigns if this client leads, and runs again from the tail of the candidates.
    ///
    /// When this returns, the term is over, and the bodies under it have been told to end.
    ///
    /// # Cancel safety
    ///
    /// The resignation goes on in the background.
    pub async fn resign(&self) {
        if let Some(term) = self.joined().and_then(|latch| latch.current()) {
            term.resign();
            term.lost().await;
        }
    }

    /// Lists the candidates in the order in which they will lead; the first is the leader.
    ///
    /// # Errors
    ///
    /// The same as [`Mutex::participants`](crate::Mutex::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        self.election.participants().await
    }

    /// Returns the candidate if this client has joined. A forked child has none, and takes no lock that another thread may
    /// have had.
    fn joined(&self) -> Option<Arc<LeaderLatch>> {
        self.election.check().ok()?;
        self.candidates().lock().get(self.path()).cloned()
    }

    fn enter(&self) -> Result<Arc<LeaderLatch>, LockError> {
        self.election.check()?;
        let mut candidates = self.candidates().lock();
        let join = || {
            let close = self.client.worker().closing.child_token();
            // Its own task tells the listeners, so that none of them is woken under this lock.
            Arc::new(LeaderLatch::join(self.election.clone(), close))
        };
        Ok(candidates.entry(self.path().to_owned()).or_insert_with(join).clone())
    }

    fn candidates(&self) -> &Candidates {
        self.client.candidates().get_or_default()
    }
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leader")
            .field("path", &self.path())
            .field("is_leader", &self.is_leader())
            .finish_non_exhaustive()
    }
}

/// The candidates of one client, by path. They end with the client, and do not keep it alive.
type Candidates = Mutex<HashMap<String, Arc<LeaderLatch>>>;

/// Waits for the first answer of the election, for at most `within`; running out of time is not an error.
async fn settled(latch: &LeaderLatch, within: Duration) -> Result<(), LockError> {
    match latch.settled_timeout(within).await {
        Err(LockError::Timeout { .. }) => Ok(()),
        answer => answer,
    }
}

/// The longest wait of the first callers for the election's first answer.
const SETTLE: Duration = Duration::from_secs(2);
