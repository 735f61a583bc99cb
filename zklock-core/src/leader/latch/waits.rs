//! The waits of callers for a latch.

use std::time::Duration;

use crate::error::{LockError, Phase};
use crate::events::WaitSpan;
use crate::leader::campaign::Position;
use crate::leader::leadership::Leadership;

use super::LeaderLatch;

impl LeaderLatch {
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
        self.spanned(self.led()).await
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
        self.spanned(self.within(wait, Phase::Queued, self.led())).await
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
        self.office.check()?;
        if self.is_closed_to_calls() {
            return Err(self.closed());
        }
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

    async fn led(&self) -> Result<Leadership, LockError> {
        self.office.check()?;
        let mut position = self.position.clone();
        loop {
            // Cloned, because a look at the term may wake code of users in this thread.
            let present = position.borrow_and_update().clone();
            match present {
                _ if self.is_closed_to_calls() => return Err(self.closed()),
                Position::Leads(leadership) if leadership.is_leading() => return Ok(leadership),
                Position::Refused(error) => return Err(error),
                Position::Closed => return Err(self.closed()),
                Position::Leads(_) | Position::Starts | Position::Follows => {}
            }
            position.changed().await.map_err(|_| self.closed())?;
        }
    }

    /// Waits for a term inside of a span.
    async fn spanned(
        &self,
        term: impl Future<Output = Result<Leadership, LockError>>,
    ) -> Result<Leadership, LockError> {
        let mut span = WaitSpan::begin(&self.office.lock.subject(None));
        let term = term.await;
        match &term {
            Ok(leadership) => span.acquired(leadership.fencing_token()),
            Err(error) => span.failed(error),
        }
        term
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
}
