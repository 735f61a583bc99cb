//! Leads from the election until it is closed.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::participant::Participant;

use super::leadership::Leadership;
use super::office::Office;

use self::campaign::Campaign;

mod campaign;

/// A candidate that leads from its election until it is closed (Curator's `LeaderLatch`).
///
/// While the connection is broken it does not lead, with the default [`Policy`](crate::Policy), but keeps its
/// place, and leads again in another term when the servers confirm it. Dropping the latch closes it in the
/// background.
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
    client: Client,
    office: Office,
    position: watch::Receiver<Position>,
    close: CancellationToken,
}

/// Where a candidate is.
#[derive(Clone)]
enum Position {
    Follows,
    Leads(Leadership),
    /// It runs no more; with the reason, unless it was closed.
    Ended(Result<(), LockError>),
}

impl LeaderLatch {
    pub(super) fn start(client: Client, office: Office) -> Self {
        let (told, position) = watch::channel(Position::Follows);
        let close = office.worker.closing().child_token();
        let campaign = Campaign { office: office.clone(), told, close: close.clone() };
        client.worker().spawn(campaign.run());
        Self { client, office, position, close }
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.office.path()
    }

    /// Tells whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn is_leader(&self) -> bool {
        match &*self.position.borrow() {
            Position::Leads(leadership) => leadership.is_leading(),
            Position::Follows | Position::Ended(_) => false,
        }
    }

    /// The term of this candidate, if it leads at this instant.
    pub fn current(&self) -> Option<Leadership> {
        match &*self.position.borrow() {
            Position::Leads(leadership) => Some(leadership.clone()).filter(Leadership::is_leading),
            Position::Follows | Position::Ended(_) => None,
        }
    }

    /// Waits until this candidate leads.
    ///
    /// # Errors
    ///
    /// [`LockError::Closed`] if the latch or its client is closed meanwhile, and what makes it impossible to
    /// run: [`LockError::Denied`], [`LockError::Refused`], [`LockError::MixedRecipes`],
    /// [`LockError::AuthFailed`], [`LockError::InvalidConfig`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership(&self) -> Result<Leadership, LockError> {
        let closed = || LockError::Closed { path: self.path().to_owned() };
        let mut position = self.position.clone();
        loop {
            match &*position.borrow_and_update() {
                Position::Leads(leadership) if leadership.is_leading() => return Ok(leadership.clone()),
                Position::Ended(reason) => return Err(reason.clone().err().unwrap_or_else(closed)),
                Position::Leads(_) | Position::Follows => {}
            }
            position.changed().await.map_err(|_| closed())?;
        }
    }

    /// Waits until this candidate leads, for at most `wait`.
    ///
    /// # Errors
    ///
    /// Those of [`leadership`](Self::leadership), and [`LockError::Timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership_timeout(&self, wait: Duration) -> Result<Leadership, LockError> {
        // The timer is that of the client's thread, which runs whatever the caller's runtime does.
        let elapsed = self.client.worker().sleep(wait);
        tokio::select! {
            biased;
            leadership = self.leadership() => leadership,
            () = elapsed => {
                let path = self.path().to_owned();
                Err(LockError::Timeout { path, waited: wait, phase: Phase::Queued })
            }
        }
    }

    /// The changes between leading and not leading, from what it is now on.
    pub fn changes(&self) -> LeaderChanges {
        LeaderChanges { position: self.position.clone(), told: None }
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
        self.office.participants().await
    }

    /// The leader as the servers know it, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`participants`](Self::participants).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn leader(&self) -> Result<Option<Participant>, LockError> {
        self.office.leader().await
    }

    /// Leaves the election: what runs under the term is cancelled, then the office is given up, and this
    /// returns when the servers have done it. Closing a latch that ended already changes nothing.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] if that takes longer than the client's default wait; it goes on in the
    /// background. What ended the latch before, if that was an error.
    ///
    /// # Cancel safety
    ///
    /// The latch is closed in the background.
    pub async fn close(self) -> Result<(), LockError> {
        self.close.cancel();
        let (mut position, within) = (self.position.clone(), self.client.default_wait());
        let ended = async move {
            match position.wait_for(|position| matches!(position, Position::Ended(_))).await.as_deref() {
                Ok(Position::Ended(reason)) => reason.clone(),
                Ok(_) | Err(_) => Ok(()),
            }
        };
        let path = self.path().to_owned();
        match self.client.worker().call(within, ended).await {
            Ok(reason) => reason,
            Err(_) => Err(LockError::Timeout { path, waited: within, phase: Phase::Releasing }),
        }
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

/// Tells when a candidate begins and ceases to lead.
#[derive(Clone)]
pub struct LeaderChanges {
    position: watch::Receiver<Position>,
    /// What was told last.
    told: Option<bool>,
}

impl LeaderChanges {
    /// Waits until it leads or does not lead, other than at the last call; `None` after the latch was closed
    /// and the end of its leadership told.
    ///
    /// Changes that follow each other closely may be left out in pairs.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Option<bool> {
        loop {
            let (leads, is_over) = match &*self.position.borrow_and_update() {
                Position::Leads(leadership) => (leadership.is_leading(), false),
                Position::Follows => (false, false),
                Position::Ended(_) => (false, true),
            };
            if self.told != Some(leads) {
                self.told = Some(leads);
                return Some(leads);
            }
            if is_over || self.position.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl fmt::Debug for LeaderChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderChanges").field("told", &self.told).finish_non_exhaustive()
    }
}
