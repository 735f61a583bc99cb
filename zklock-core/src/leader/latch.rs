//! A candidate that leads from its election until it is closed.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::client::worker::Unanswered;
use crate::error::{LockError, Phase};
use crate::participant::Participant;

use super::campaign::{Campaign, Position};
use super::changes::LeaderChanges;
use super::leadership::Leadership;
use super::office::Office;

/// A candidate that leads from its election until it is closed (Curator's `LeaderLatch`).
///
/// With the default [`Policy`](crate::Policy), it leads on through an outage, until the lease clock runs out.
/// With [`GiveUpWhenSuspended`](crate::Policy::GiveUpWhenSuspended), it stops at once, and leads again in a
/// new term once the servers confirm its place. Dropping the latch closes it in the background.
///
/// A latch lives until it or its client is closed. If the servers refuse it, for example because of an ACL, a
/// quota or a contender of another recipe, it tries again: after about 100 ms, and then after pauses that
/// double up to 30 s. Each refusal is logged as an error, and [`failure`](Self::failure) returns it meanwhile.
///
/// # Examples
///
/// ```no_run
/// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
/// let latch = client.leader_latch("/sweeper")?;
/// if latch.is_leader() {
///     // …
/// }
/// latch.close().await
/// # }
/// ```
pub struct LeaderLatch {
    office: Office,
    position: watch::Receiver<Position>,
    close: CancellationToken,
    /// Keeps the client alive, unless the latch belongs to the client.
    _client: Option<Client>,
}

impl LeaderLatch {
    pub(super) fn start(client: Option<Client>, office: Office) -> Self {
        let (told, position) = watch::channel(Position::Starts);
        let close = office.worker.closing().child_token();
        let campaign = Campaign { office: office.clone(), told, close: close.clone() };
        office.worker.spawn(campaign.run());
        Self { office, position, close, _client: client }
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.office.path()
    }

    /// Returns whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn is_leader(&self) -> bool {
        match &*self.position.borrow() {
            Position::Leads(leadership) => leadership.is_leading(),
            Position::Starts | Position::Follows | Position::Refused(_) | Position::Closed => false,
        }
    }

    /// Returns the term of this candidate if it leads at this instant.
    pub fn current(&self) -> Option<Leadership> {
        self.position.borrow().current()
    }

    /// Returns, from memory, the error for which this candidate does not run at present: it tries again after
    /// a pause.
    ///
    /// The result is `None` as soon as the candidate leads or follows again.
    pub fn failure(&self) -> Option<LockError> {
        match &*self.position.borrow() {
            Position::Refused(error) => Some(error.clone()),
            Position::Starts | Position::Follows | Position::Leads(_) | Position::Closed => None,
        }
    }

    /// Returns the election's answer from memory: the term of this candidate, if it leads at this instant.
    /// The outer `None` means that there is no answer yet, or that the candidate does not run.
    pub(super) fn answer(&self) -> Option<Option<Leadership>> {
        // A campaign that was dropped with the client's thread has not published its end.
        self.position.has_changed().ok()?;
        match &*self.position.borrow() {
            Position::Starts | Position::Refused(_) | Position::Closed => None,
            position @ (Position::Follows | Position::Leads(_)) => Some(position.current()),
        }
    }

    /// Waits until this candidate leads.
    ///
    /// # Errors
    ///
    /// * [`LockError::Closed`] if the latch or its client is closed.
    /// * [`LockError::Denied`], [`LockError::Refused`], [`LockError::MixedRecipes`],
    ///   [`LockError::AuthFailed`] or [`LockError::InvalidConfig`] if the candidate cannot run. The candidate
    ///   tries again on its own. While it pauses, every call returns this error at once. When it leads or
    ///   follows again, a new call waits again.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership(&self) -> Result<Leadership, LockError> {
        let mut position = self.position.clone();
        loop {
            match &*position.borrow_and_update() {
                Position::Leads(leadership) if leadership.is_leading() => return Ok(leadership.clone()),
                Position::Refused(error) => return Err(error.clone()),
                Position::Closed => return Err(self.closed()),
                Position::Leads(_) | Position::Starts | Position::Follows => {}
            }
            position.changed().await.map_err(|_| self.closed())?;
        }
    }

    /// Waits until this candidate leads, for at most `wait`.
    ///
    /// # Errors
    ///
    /// The same as [`leadership`](Self::leadership), and [`LockError::Timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership_timeout(&self, wait: Duration) -> Result<Leadership, LockError> {
        self.within(wait, Phase::Queued, self.leadership()).await
    }

    /// Waits for the first answer of the election: that this candidate leads, or waits behind others.
    ///
    /// Before this answer, a `false` from [`is_leader`](Self::is_leader) does not mean that another candidate
    /// leads.
    ///
    /// # Errors
    ///
    /// The same as [`leadership`](Self::leadership).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn settled(&self) -> Result<(), LockError> {
        let mut position = self.position.clone();
        let known = position.wait_for(|position| !matches!(position, Position::Starts)).await;
        match known.as_deref() {
            Ok(Position::Refused(error)) => Err(error.clone()),
            Ok(Position::Closed) | Err(_) => Err(self.closed()),
            Ok(Position::Starts | Position::Follows | Position::Leads(_)) => Ok(()),
        }
    }

    /// Waits for the first answer of the election, for at most `wait`.
    ///
    /// # Errors
    ///
    /// The same as [`settled`](Self::settled), and [`LockError::Timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn settled_timeout(&self, wait: Duration) -> Result<(), LockError> {
        self.within(wait, Phase::Entering, self.settled()).await
    }

    /// Returns, from memory, whether the first answer has arrived; fails as [`settled`](Self::settled) does.
    pub(super) fn is_settled(&self) -> Result<bool, LockError> {
        // A campaign that was dropped with the client's thread has not published its end.
        let is_gone = self.position.has_changed().is_err();
        match &*self.position.borrow() {
            Position::Closed => Err(self.closed()),
            _ if is_gone => Err(self.closed()),
            Position::Refused(error) => Err(error.clone()),
            Position::Starts => Ok(false),
            Position::Follows | Position::Leads(_) => Ok(true),
        }
    }

    async fn within<T>(
        &self,
        wait: Duration,
        phase: Phase,
        answer: impl Future<Output = Result<T, LockError>>,
    ) -> Result<T, LockError> {
        tokio::select! {
            biased;
            answer = answer => answer,
            () = self.office.worker.pause(wait) => {
                Err(LockError::Timeout { path: self.path().to_owned(), waited: wait, phase, holder: None })
            }
        }
    }

    fn closed(&self) -> LockError {
        LockError::Closed { path: self.path().to_owned() }
    }

    /// Returns the changes between leading and not leading, beginning with the present state.
    pub fn changes(&self) -> LeaderChanges {
        LeaderChanges::of(self.position.clone())
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
        self.office.participants().await
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
        self.office.leader().await
    }

    /// Leaves the election: cancels the bodies under the term, gives up leadership, and waits until the
    /// servers have confirmed it.
    ///
    /// Closing a latch that has already ended, for example with its client, has no effect.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] if that takes longer than the client's default wait; it then goes on in the
    /// background.
    ///
    /// # Cancel safety
    ///
    /// The latch is closed in the background.
    pub async fn close(self) -> Result<(), LockError> {
        self.close.cancel();
        let (mut position, waited) = (self.position.clone(), self.office.worker.default_wait());
        let ended = async move {
            position.wait_for(|position| matches!(position, Position::Closed)).await.ok();
        };
        // If the client's thread has ended, so has the latch.
        if let Err(Unanswered::InTime) = self.office.worker.call(waited, ended).await {
            let path = self.path().to_owned();
            return Err(LockError::Timeout { path, waited, phase: Phase::Releasing, holder: None });
        }
        Ok(())
    }
}

impl Drop for LeaderLatch {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

impl fmt::Debug for LeaderLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderLatch")
            .field("path", &self.path())
            .field("is_leader", &self.is_leader())
            .finish_non_exhaustive()
    }
}
