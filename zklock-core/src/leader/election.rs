//! An election, and how a client runs in it.

use std::sync::Arc;
use std::time::Duration;

use crate::acquire::Wanted;
use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::LockError;
use crate::hold::{Door, Entry};
use crate::participant::Participant;
use crate::path::NodePath;
use crate::queue::claim::{Place, Role};

use super::latch::LeaderLatch;
use super::leadership::Leadership;
use super::office::{Office, Policy, Requeue};
use super::selector::LeaderSelector;
use super::selector::control::Verdict;

/// An election at one path, and how this client runs in it.
///
/// Nothing is sent before [`latch`](Self::latch) or [`select`](Self::select).
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// use std::time::Duration;
/// use zklock_core::Policy;
///
/// let election = client.election("/sweeper")?;
/// let latch = election.policy(Policy::GiveUpWhenLost).hold_down(Duration::from_secs(5)).latch();
/// let leadership = latch.leadership().await?;
/// println!("leading with epoch {}", leadership.fencing_token());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    client: Client,
    path: NodePath,
    identity: String,
    policy: Policy,
    hold_down: Duration,
    handover: Duration,
    requeue: Requeue,
}

impl Election {
    pub(crate) fn new(client: Client, path: NodePath) -> Self {
        let identity = client.identity().to_owned();
        Self {
            client,
            path,
            identity,
            policy: Policy::default(),
            hold_down: Duration::ZERO,
            handover: Duration::ZERO,
            requeue: Requeue::WhenAsked,
        }
    }

    /// Has a selector run again after each term, after a pause that grows if its callback fails.
    #[must_use]
    pub fn auto_requeue(self) -> Self {
        Self { requeue: Requeue::Always, ..self }
    }

    /// Sets the id by which others see this candidate, the client's identity by default.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidConfig`] for one of more than 1024 bytes.
    pub fn identity(self, identity: impl Into<String>) -> Result<Self, LockError> {
        let identity = identity.into();
        if identity.len() > LONGEST_IDENTITY {
            let reason = format!("it is longer than {LONGEST_IDENTITY} bytes");
            return Err(LockError::InvalidConfig { setting: "identity", reason });
        }
        Ok(Self { identity, ..self })
    }

    /// Sets what a leader does when the connection breaks.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Keeps a candidate that ceased to lead, but for its own wish, from leading again for so long: a
    /// connection that flaps then does not make leaders flap. None by default.
    #[must_use]
    pub fn hold_down(self, hold_down: Duration) -> Self {
        Self { hold_down, ..self }
    }

    /// Has a candidate that is elected wait for so long before its first term. None by default.
    ///
    /// A lease ends before the session of its leader can expire, but nothing warns a leader whose session somebody
    /// ends: it learns of that when its successor does, or at the latest when its lease ends. With a pause of the
    /// session timeout in all candidates, no two lead at once even then.
    #[must_use]
    pub fn handover(self, handover: Duration) -> Self {
        Self { handover, ..self }
    }

    /// Enters the election as a latch: leads from being elected until it is closed (Curator's `LeaderLatch`).
    ///
    /// It runs from now on, whether or not a server can be reached yet. A latch is started by being made, and
    /// once; another one of the same client at the same path is another candidate.
    pub fn latch(self) -> LeaderLatch {
        let (worker, client) = (self.client.worker().clone(), self.client.clone());
        LeaderLatch::start(Some(client), self.office(worker, Role::Latch))
    }

    /// Enters the election as a latch that is a part of its client, and ends with it.
    pub(super) fn latch_of_client(self) -> LeaderLatch {
        let worker = self.client.worker().clone();
        LeaderLatch::start(None, self.office(worker, Role::Latch))
    }

    /// Lists the candidates in the order in which they will lead; the first is the leader.
    ///
    /// # Errors
    ///
    /// Those of [`Mutex::participants`](crate::Mutex::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        let worker = self.client.worker().clone();
        self.clone().office(worker, Role::Latch).participants().await
    }

    /// Enters the election as a selector: leads while `callback` runs (Curator's `LeaderSelector`).
    ///
    /// The callback runs on the runtime of the caller, once for each term. It is dropped at its next await when
    /// the term is over; when it returns, leadership is given up. While it does not await, the office is kept.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn select<F, R>(self, callback: F) -> LeaderSelector
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        let (worker, client) = (self.client.worker().clone(), self.client.clone());
        LeaderSelector::start(client, self.office(worker, Role::Exclusive), callback)
    }

    fn office(self, worker: Arc<Worker>, role: Role) -> Office {
        let identity: Arc<[u8]> = self.identity.as_bytes().into();
        let place = Place { role, also_behind: [].into() };
        let wanted = Wanted::Office { place, identity };
        let door = Door { path: self.path, entry: Entry::Office, wanted };
        let Self { policy, hold_down, handover, requeue, .. } = self;
        Office { worker, door, policy, hold_down, handover, requeue }
    }
}

/// Everybody who waits reads it.
const LONGEST_IDENTITY: usize = 1024;
