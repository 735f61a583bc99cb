//! The settings of a candidate, and the list of the candidates.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::client::config::check_identity;
use crate::client::worker::Worker;
use crate::contend::Wanted;
use crate::error::{LockError, Phase};
use crate::hold::{Access, LockRef};
use crate::mode::Mode;
use crate::participant::{self, Participant, Standing};
use crate::path::NodePath;
use crate::queue::predicate::Place;
use crate::time::{Elapsed, timeout};

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
    /// Keeps the client alive. `None` for what belongs to the client, or to its tasks.
    _client: Option<Client>,
    pub(super) worker: Arc<Worker>,
    pub(super) lock: LockRef,
    pub(super) policy: Policy,
    pub(super) hold_down: Duration,
    pub(super) handover: Duration,
    /// Whether a selector runs again after each term, and also after it was refused. Otherwise it does after
    /// [`LeaderSelector::requeue`](super::LeaderSelector::requeue).
    pub(super) auto_requeue: bool,
}

impl Election {
    pub(crate) fn new(client: Client, path: NodePath) -> Self {
        let (worker, identity) = (client.worker().clone(), client.worker().settings.identity.clone());
        let place = Place { role: Mode::Leader, also_behind: [].into() };
        let lock = LockRef::new(path, Access::Leader, Wanted::Candidacy { place, identity });
        let (policy, hold_down, handover, auto_requeue) = Default::default();
        Self { _client: Some(client), worker, lock, policy, hold_down, handover, auto_requeue }
    }

    /// Returns the same settings, which do not keep the client alive.
    pub(super) fn without_client(&self) -> Self {
        Self { _client: None, ..self.clone() }
    }

    /// Returns the path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.lock.path.relative()
    }

    /// Makes a selector run again after each term.
    ///
    /// After a failed callback it pauses first: for about 100 ms, and twice as long after each further failure, up
    /// to 30 s. It pauses in the same way if the servers refuse it, instead of ending.
    #[must_use]
    pub fn auto_requeue(self) -> Self {
        Self { auto_requeue: true, ..self }
    }

    /// Names this election in events and metrics; see [`Mutex::named`](crate::Mutex::named).
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.lock.label = name.into();
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
        if let Wanted::Candidacy { identity, .. } = &mut self.lock.wanted {
            *identity = own.into();
        }
        Ok(self)
    }

    /// Sets the reaction of the leader to a broken connection, by default [`Policy::GiveUpWhenLost`].
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets the least time between the involuntary end of a term and the next term of the same candidate,
    /// zero by default.
    ///
    /// It keeps a flapping connection from making leadership flap. A selector also pauses for at least this
    /// time after its callback has failed.
    #[must_use]
    pub fn hold_down(self, hold_down: Duration) -> Self {
        Self { hold_down, ..self }
    }

    /// Sets the pause between an election and the first term after it, zero by default.
    ///
    /// A lease ends before the session of its leader can expire. But a leader gets no warning if another client
    /// ends its session: it learns of the loss a moment after its successor leads, or at the latest when its lease
    /// ends. If all candidates pause for the session timeout, no two of them lead at once even then.
    #[must_use]
    pub fn handover(self, handover: Duration) -> Self {
        Self { handover, ..self }
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
        participant::list(&self.worker, &self.lock).await
    }

    /// Returns the current leader, as the servers know it, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// The same as [`participants`](Self::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn leader(&self) -> Result<Option<Participant>, LockError> {
        let participants = self.participants().await?;
        Ok(participants.into_iter().find(|participant| participant.standing == Standing::Holds))
    }

    /// Fails if this process is a fork of the candidate's.
    pub(super) fn check(&self) -> Result<(), LockError> {
        self.worker.check_process(&self.lock.path)
    }

    /// Waits for an answer for at most `wait`.
    pub(super) async fn within<T>(
        &self,
        wait: Duration,
        phase: impl FnOnce() -> Phase,
        answer: impl Future<Output = Result<T, LockError>>,
    ) -> Result<T, LockError> {
        timeout(wait, answer).await.unwrap_or_else(|Elapsed| {
            Err(LockError::Timeout {
                path: self.path().to_owned(),
                waited: wait,
                phase: phase(),
                holder: None,
            })
        })
    }
}

/// The reaction of a leader to a broken connection, which does not yet mean that leadership is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Give up leadership at once: every short outage and every restart of the leader's server ends a term
    /// (Curator's `StandardConnectionStateErrorPolicy`, its default).
    GiveUpWhenSuspended,
    /// Keep leading until leadership is lost, or until the lease clock runs out, which is the default
    /// (`SessionConnectionStateErrorPolicy`).
    ///
    /// A leader outlives the silence or the restart of its server. No two candidates lead at the same time,
    /// because the lease ends before the session can expire.
    #[default]
    GiveUpWhenLost,
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("path", &self.path())
            .field("policy", &self.policy)
            .field("hold_down", &self.hold_down)
            .field("handover", &self.handover)
            .field("auto_requeue", &self.auto_requeue)
            .finish_non_exhaustive()
    }
}
