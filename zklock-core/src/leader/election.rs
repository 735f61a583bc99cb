//! The settings of a candidate, and the entry into an election.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::client::Client;
use crate::client::config::check_identity;
use crate::contend::Wanted;
use crate::error::LockError;
use crate::hold::{Access, LockRef};
use crate::participant::Participant;
use crate::path::NodePath;
use crate::queue::predicate::{Place, Role};

use super::latch::LeaderLatch;
use super::leadership::{CandidateConfig, Leadership, Policy};
use super::selector::{LeaderSelector, Verdict};

/// An election at one path, with the settings of this client's candidate.
///
/// Creating and configuring an election sends no request; [`latch`](Self::latch) and [`select`](Self::select)
/// enter it.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// use std::time::Duration;
/// use zklock_core::Policy;
///
/// let election = client.election("/sweeper")?;
/// let latch = election.policy(Policy::GiveUpWhenSuspended).hold_down(Duration::from_secs(5)).latch();
/// let leadership = latch.leadership().await?;
/// println!("leading with epoch {}", leadership.fencing_token());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Election {
    client: Client,
    pub(super) config: CandidateConfig,
}

impl Election {
    pub(crate) fn new(client: Client, path: NodePath) -> Self {
        let (worker, identity) = (client.worker().clone(), client.worker().settings.identity.clone());
        let place = Place { role: Role::Leader, also_behind: [].into() };
        let lock = LockRef::new(path, Access::Leader, Wanted::Candidacy { place, identity });
        let (policy, hold_down, handover, auto_requeue) = Default::default();
        let config = CandidateConfig { worker, lock, policy, hold_down, handover, auto_requeue };
        Self { client, config }
    }

    /// Makes a selector run again after each term.
    ///
    /// After a failed callback it pauses first: for about 100 ms, and twice as long after each further failure, up
    /// to 30 s. It pauses in the same way if the servers refuse it, instead of ending.
    #[must_use]
    pub fn auto_requeue(mut self) -> Self {
        self.config.auto_requeue = true;
        self
    }

    /// Names this election in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.config.lock.label = name.into();
        self
    }

    /// Sets the id under which other participants see this candidate, by default the identity of the client.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidConfig`] if the id is longer than 1024 bytes, or `__REVOKE__`, which asks a holder to release.
    pub fn identity(mut self, identity: impl Into<String>) -> Result<Self, LockError> {
        let own = identity.into();
        check_identity(&own)?;
        if let Wanted::Candidacy { identity, .. } = &mut self.config.lock.wanted {
            *identity = own.into();
        }
        Ok(self)
    }

    /// Sets the reaction of the leader to a broken connection, by default [`Policy::GiveUpWhenLost`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.config.policy = policy;
        self
    }

    /// Sets the least time between the involuntary end of a term and the next term of the same candidate,
    /// zero by default.
    ///
    /// It keeps a flapping connection from making leadership flap. A selector also pauses for at least this
    /// time after its callback has failed.
    #[must_use]
    pub fn hold_down(mut self, hold_down: Duration) -> Self {
        self.config.hold_down = hold_down;
        self
    }

    /// Sets the pause between an election and the first term after it, zero by default.
    ///
    /// A lease ends before the session of its leader can expire. But a leader gets no warning if somebody
    /// else ends its session: it learns of the loss a moment after its successor leads, or at the latest when its
    /// lease ends. If all candidates pause for the session timeout, no two of them lead at once even then.
    #[must_use]
    pub fn handover(mut self, handover: Duration) -> Self {
        self.config.handover = handover;
        self
    }

    /// Enters the election as a latch, which leads from its election until it is closed (Curator's
    /// `LeaderLatch`).
    ///
    /// The latch runs from now on, even while no server can be reached, and needs no separate start. Another
    /// latch of the same client at the same path is another candidate.
    pub fn latch(self) -> LeaderLatch {
        let close = self.client.worker().closing.child_token();
        LeaderLatch::join(Some(self.client), self.config, close)
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
        self.config.participants().await
    }

    /// Enters the election as a selector, which leads while `callback` runs (Curator's `LeaderSelector`).
    ///
    /// The callback runs on the caller's runtime, once per term. When it returns, leadership is given up. If
    /// the term ends first, the callback is dropped at its next await; until then, the candidate keeps its
    /// place in the election. The callback, its future and its errors are also formatted and dropped on that
    /// runtime. While the runtime is blocked, the candidate keeps its place, and may lead without a callback.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime.
    pub fn select<F, R>(mut self, callback: F) -> LeaderSelector
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        if let Wanted::Candidacy { place, .. } = &mut self.config.lock.wanted {
            place.role = Role::Exclusive;
        }
        LeaderSelector::start(self.client, self.config, callback)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("path", &self.config.path())
            .field("policy", &self.config.policy)
            .field("hold_down", &self.config.hold_down)
            .field("handover", &self.config.handover)
            .field("auto_requeue", &self.config.auto_requeue)
            .finish_non_exhaustive()
    }
}
