//! A candidate that leads from its election until it is closed.

mod waits;

use std::fmt;

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
/// A latch lives until it or its client is closed. When the client is [shut down](Client::shutdown), a latch that leads
/// refuses new calls, and resigns as soon as no body runs under its term. If the servers refuse it, for example because of an ACL, a
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

/// The campaign of a latch that has not joined the election yet.
#[must_use = "the latch waits for it"]
pub(super) struct Intent {
    office: Office,
    told: watch::Sender<Position>,
    close: CancellationToken,
}

impl Intent {
    /// Joins the election.
    pub(super) fn join(self) {
        let Self { office, told, close } = self;
        let worker = office.worker.clone();
        let candidacy = office.candidacy();
        worker.spawn(Campaign { candidacy, office, told, close }.run());
    }
}

impl LeaderLatch {
    pub(super) fn start(client: Option<Client>, office: Office) -> Self {
        let (latch, intent) = Self::new(client, office);
        intent.join();
        latch
    }

    /// Makes a latch that joins the election later.
    pub(super) fn new(client: Option<Client>, office: Office) -> (Self, Intent) {
        let (told, position) = watch::channel(Position::Starts);
        let close = office.worker.closing().child_token();
        let intent = Intent { office: office.clone(), told, close: close.clone() };
        (Self { office, position, close, _client: client }, intent)
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.office.path()
    }

    /// Returns whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn is_leader(&self) -> bool {
        self.current().is_some()
    }

    /// Returns the term of this candidate if it leads at this instant.
    pub fn current(&self) -> Option<Leadership> {
        self.position().term().filter(Leadership::is_leading)
    }

    /// Returns the position, which is cloned because a look at its term may wake code of users in this thread.
    fn position(&self) -> Position {
        // A forked child takes no lock that another thread may have had.
        if self.office.check().is_err() { Position::Closed } else { self.position.borrow().clone() }
    }

    /// Returns, from memory, the error for which this candidate does not run at present: it tries again after
    /// a pause.
    ///
    /// The result is `None` as soon as the candidate leads or follows again.
    pub fn failure(&self) -> Option<LockError> {
        match self.position() {
            Position::Refused(error) => Some(error),
            Position::Starts | Position::Follows | Position::Leads(_) | Position::Closed => None,
        }
    }

    /// Returns the election's answer from memory: the term of this candidate, if it leads at this instant.
    /// The outer `None` means that there is no answer yet, or that the candidate does not run.
    pub(super) fn answer(&self) -> Option<Option<Leadership>> {
        self.office.check().ok()?;
        // A campaign that was dropped with the client's thread has not published its end.
        self.position.has_changed().ok()?;
        match self.position() {
            Position::Starts | Position::Refused(_) | Position::Closed => None,
            Position::Follows | Position::Leads(_) if self.is_closed_to_calls() => None,
            Position::Follows => Some(None),
            Position::Leads(leadership) => Some(Some(leadership).filter(Leadership::is_leading)),
        }
    }

    /// Returns whether the election's answer, from memory, is that another candidate leads. It runs no code of users.
    pub(super) fn follows(&self) -> bool {
        self.office.check().is_ok()
            && self.position.has_changed().is_ok()
            && matches!(&*self.position.borrow(), Position::Follows)
    }

    /// Returns, from memory, whether the first answer has arrived; fails as [`settled`](Self::settled) does.
    pub(super) fn is_settled(&self) -> Result<bool, LockError> {
        self.office.check()?;
        // A campaign that was dropped with the client's thread has not published its end.
        let is_gone = self.position.has_changed().is_err();
        match self.position() {
            Position::Closed => Err(self.closed()),
            _ if is_gone || self.is_closed_to_calls() => Err(self.closed()),
            Position::Refused(error) => Err(error),
            Position::Starts => Ok(false),
            Position::Follows | Position::Leads(_) => Ok(true),
        }
    }

    /// Returns whether new calls are refused because the client is shut down. Those inside of a body under the present term
    /// go on.
    fn is_closed_to_calls(&self) -> bool {
        self.close.is_cancelled() && !self.position().term().is_some_and(|term| term.is_around())
    }

    /// Leaves the election, without a grace for the bodies under the term.
    fn leave(&self) {
        self.close.cancel();
        if let Some(term) = self.position().term() {
            term.resign();
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
        self.office.check()?;
        self.leave();
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
        if self.office.check().is_ok() {
            self.leave();
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;
    use crate::leader::staged::Unwatched;

    /// Checks a look at a latch whose term is lost.
    async fn check(look: impl FnOnce(&LeaderLatch)) {
        let scene = Unwatched::begin().await;
        let (latch, intent) = LeaderLatch::new(None, scene.office.clone());
        let told = Arc::new(intent.told);
        told.send_replace(Position::Leads(scene.term.clone()));
        scene.check(move || drop(told.send_replace(Position::Follows)), || look(&latch));
    }

    #[tokio::test]
    async fn a_look_that_tells_of_the_end_of_the_term_wakes_others_without_a_lock() {
        check(|latch| assert!(!latch.is_leader())).await;
        check(|latch| assert!(latch.current().is_none())).await;
        check(|latch| assert!(matches!(latch.answer(), Some(None)))).await;
        check(|latch| drop(latch.leadership().now_or_never())).await;
        check(|latch| assert_eq!(latch.changes().next().now_or_never(), Some(Some(false)))).await;
        check(LeaderLatch::leave).await;
    }
}
