//! A candidate that leads from its election until it is closed: its handle, and its task on the client's thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client::worker::Backoff;
use crate::contend;
use crate::deadline::Contention;
use crate::error::{LockError, LossReason, Phase};
use crate::events::{Attempt, Candidacy};
use crate::lease::Claim;
use crate::lease::writes::Writing;
use crate::participant::Participant;
use crate::session::drive::Progress;
use crate::tasks::{Tasks, panics};
use crate::time::sleep;
use crate::token::MAX_GRANTS;

use super::election::Election;
use super::leadership::Leadership;

/// A candidate that leads from its election until it is closed (Curator's `LeaderLatch`).
///
/// With the default [`Policy`](crate::Policy), it leads on through an outage, until the lease clock runs out.
/// With [`GiveUpWhenSuspended`](crate::Policy::GiveUpWhenSuspended), it stops at once, and leads again in a
/// new term once the servers confirm its place. If a guarded write of the term before may still be applied, it goes to the
/// tail of the candidates instead. Dropping the latch closes it in the background.
///
/// A latch lives until it or its client is closed. When the client is [shut down](crate::Client::shutdown), a latch that leads
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
    election: Election,
    /// The present position. A candidate that was dropped with the client's thread has not told its end.
    pub(super) position: watch::Receiver<Position>,
    /// Cancelled when the candidate is to leave. A term with bodies goes on until they, or it, have ended.
    pub(super) close: CancellationToken,
    pub(super) since: Instant,
}

impl Election {
    /// Enters the election as a latch, which leads from its election until it is closed (Curator's
    /// `LeaderLatch`).
    ///
    /// The latch runs from now on, even while no server can be reached, and needs no separate start. Another
    /// latch of the same client at the same path is another candidate.
    pub fn latch(self) -> LeaderLatch {
        let close = self.worker.closing.child_token();
        LeaderLatch::join(self, close)
    }
}

impl LeaderLatch {
    /// Joins the election on the client's thread, until `close` is cancelled, which closes the latch.
    pub(super) fn join(election: Election, close: CancellationToken) -> Self {
        let (told, position) = watch::channel(Position::Starts);
        let (own, worker) = (election.without_client(), election.worker.clone());
        let latch = Self { election, position, close: close.clone(), since: Instant::now() };
        worker.tasks.spawn(async move {
            let candidacy = Candidacy::begin(own.worker.events(), own.lock.subject(None));
            Candidate { candidacy, election: own, told, close }.run().await;
        });
        latch
    }

    /// Returns the path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.election.path()
    }

    /// Returns whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn is_leader(&self) -> bool {
        self.current().is_some()
    }

    /// Returns the term of this candidate if it leads at this instant.
    pub fn current(&self) -> Option<Leadership> {
        self.election.check().ok()?;
        self.position().term().filter(Leadership::is_leading)
    }

    /// Returns the position, which is cloned because a look at its term may wake code of users in this thread. The caller
    /// knows that this process is no fork, which takes no lock that another thread may have had.
    fn position(&self) -> Position {
        self.position.borrow().clone()
    }

    /// Returns, from memory, the error for which this candidate does not run at present: it tries again after
    /// a pause.
    ///
    /// The result is `None` as soon as the candidate leads or follows again.
    pub fn failure(&self) -> Option<LockError> {
        self.election.check().ok()?;
        if let Position::Refused(error) = self.position() { Some(error) } else { None }
    }

    /// Waits for a position of which `answer` makes an answer.
    pub(super) async fn until<T>(&self, answer: impl Fn(Position) -> Option<T>) -> Result<T, LockError> {
        self.election.check()?;
        let closed = || LockError::Closed { path: self.path().to_owned() };
        let mut position = self.position.clone();
        loop {
            // Cloned, because a look at the term may wake code of users in this thread.
            let present = position.borrow_and_update().clone();
            match present {
                Position::Closed => return Err(closed()),
                // A candidate that was dropped with the client's thread has not told its end.
                _ if position.has_changed().is_err() || self.is_closed_to_calls() => return Err(closed()),
                Position::Refused(error) => return Err(error),
                present => {
                    if let Some(answer) = answer(present) {
                        return Ok(answer);
                    }
                }
            }
            position.changed().await.map_err(|_| closed())?;
        }
    }

    /// Returns whether new calls are refused because the client is shut down. Those inside of a body under the present term
    /// go on.
    fn is_closed_to_calls(&self) -> bool {
        self.close.is_cancelled() && !self.position().term().is_some_and(|term| term.is_around())
    }

    /// Leaves the election, without a grace for the bodies under the term.
    pub(super) fn leave(&self) {
        self.close.cancel();
        if let Some(term) = self.position().term() {
            term.resign();
        }
    }

    /// Returns the phase of a candidate that does not lead.
    fn phase(&self) -> Phase {
        let is_queued = !matches!(*self.position.borrow(), Position::Starts);
        match self.election.worker.current_session() {
            None => Phase::Connecting,
            Some(_) if is_queued => Phase::Queued,
            Some(_) => Phase::Entering,
        }
    }

    /// Waits until the candidate has left the election.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut position = self.position.clone();
        // Without a sender, the candidate has ended with the client's thread.
        async move { drop(position.wait_for(|position| matches!(position, Position::Closed)).await) }
    }

    /// Waits until this candidate leads.
    ///
    /// # Errors
    ///
    /// * [`LockError::Closed`] if the latch or its client is closed.
    /// * [`LockError::Denied`], [`LockError::Refused`], [`LockError::MixedRecipes`], [`LockError::AuthFailed`],
    ///   [`LockError::Tls`] or [`LockError::InvalidConfig`] if the candidate cannot run. The candidate tries again
    ///   on its own. While it pauses, every call returns this error at once. When it leads or follows again, a new
    ///   call waits again.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership(&self) -> Result<Leadership, LockError> {
        self.spanned(self.led()).await
    }

    /// Waits until this candidate leads, for at most `wait`.
    ///
    /// Zero looks once, and [`Duration::MAX`] waits forever.
    ///
    /// # Errors
    ///
    /// The same as [`leadership`](Self::leadership), and [`LockError::Timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn leadership_timeout(&self, wait: Duration) -> Result<Leadership, LockError> {
        self.spanned(self.election.within(wait, || self.phase(), self.led())).await
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
        self.until(|position| (!matches!(position, Position::Starts | Position::Elected)).then_some(())).await
    }

    /// Waits for the first answer of the election, for at most `wait`.
    ///
    /// Zero looks once, and [`Duration::MAX`] waits forever.
    ///
    /// # Errors
    ///
    /// The same as [`settled`](Self::settled), and [`LockError::Timeout`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the candidate keeps its place.
    pub async fn settled_timeout(&self, wait: Duration) -> Result<(), LockError> {
        self.election.within(wait, || self.phase(), self.settled()).await
    }

    async fn led(&self) -> Result<Leadership, LockError> {
        self.until(|position| position.term().filter(Leadership::is_leading)).await
    }

    /// Waits for a term inside of a span.
    async fn spanned(
        &self,
        term: impl Future<Output = Result<Leadership, LockError>>,
    ) -> Result<Leadership, LockError> {
        let attempt = Attempt::begin(None, self.election.lock.subject(None));
        let term = term.await;
        match &term {
            Ok(leadership) => drop(attempt.acquired(leadership.fencing_token(), 1)),
            Err(error) => attempt.failed(error),
        }
        term
    }

    /// Returns the changes between leading and not leading, beginning with the present state.
    pub fn changes(&self) -> LeaderChanges {
        let tasks = self.election.worker.tasks.clone();
        LeaderChanges { tasks, position: self.position.clone(), told: None }
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
        self.election.leader().await
    }

    /// Leaves the election: cancels the bodies under the term, gives up leadership, and waits until the servers
    /// have confirmed or refused it. A refusal is no error: the listeners are told of it by
    /// [`LockEventKind::ReleaseFailed`](crate::LockEventKind::ReleaseFailed).
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
        self.election.check()?;
        self.leave();
        let waited = self.election.worker.default_wait();
        self.election.within(waited, || Phase::Releasing, self.ended().map(Ok)).await
    }
}

impl Drop for LeaderLatch {
    fn drop(&mut self) {
        if self.election.check().is_ok() {
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

/// The changes of a latch between leading and not leading.
#[derive(Clone)]
pub struct LeaderChanges {
    tasks: Tasks,
    position: watch::Receiver<Position>,
    /// The value returned last.
    told: Option<bool>,
}

impl LeaderChanges {
    /// Waits for the next change, and returns whether the latch leads after it; `None` after its end.
    ///
    /// The first call returns the present state at once. The end of leadership is reported before `None`.
    /// Changes in quick succession may be skipped in pairs.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Option<bool> {
        loop {
            // Cloned, because a look at the term may wake code of users in this thread. A forked child takes no lock that
            // another thread may have had.
            let position = match self.tasks.is_forked() {
                true => Position::Closed,
                false => self.position.borrow_and_update().clone(),
            };
            let is_over = matches!(position, Position::Closed);
            let leads = position.term().is_some_and(|term| term.is_leading());
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

/// The position of a candidate in its election.
#[derive(Clone)]
pub(super) enum Position {
    /// It is not known yet whether the candidate is first in the queue.
    Starts,
    /// It is first in the queue, and pauses for the handover.
    Elected,
    Follows,
    Leads(Leadership),
    /// The candidate cannot run, and tries again after a pause. The error stays until the next answer of the election, so
    /// that callers do not wait for an attempt that may fail again.
    Refused(LockError),
    Closed,
}

impl Position {
    /// Returns the term of a candidate that leads, or has just led.
    pub(super) fn term(self) -> Option<Leadership> {
        if let Self::Leads(leadership) = self { Some(leadership) } else { None }
    }
}

/// The task of a latch, which runs on the client's thread until it is closed.
struct Candidate {
    /// Dropped before the worker, which delivers the end of the candidacy.
    candidacy: Candidacy,
    election: Election,
    told: watch::Sender<Position>,
    close: CancellationToken,
}

impl Candidate {
    async fn run(self) {
        let mut backoff = backoff();
        while !self.close.is_cancelled() {
            let started = Instant::now();
            // A panic costs the session, and not the candidate.
            if panics(self.stand()).await {
                self.election.worker.tasks.note_panic();
            }
            let pause = backoff.lengthen_after(started.elapsed());
            self.close.run_until_cancelled(sleep(pause)).await;
        }
        drop(self.candidacy);
        self.told.send_replace(Position::Closed);
    }

    /// Stands in the election until the candidate is closed or refused.
    async fn stand(&self) {
        let Err(error) = self.campaign().await else { return };
        self.candidacy.rejected(&error);
        let path = self.election.path();
        tracing::error!(path, %error, "a candidate cannot run");
        self.told.send_replace(Position::Refused(error));
    }

    /// Leads in one lease after another until the candidate is closed, or cannot run.
    async fn campaign(&self) -> Result<(), LockError> {
        while let Some(claim) = self.elected().await? {
            // It is no longer refused, although it may not lead yet.
            shift(&self.told, Position::Follows, |position| matches!(position, Position::Refused(_)));
            shift(&self.told, Position::Elected, |position| matches!(position, Position::Starts));
            let handed_over = async {
                tokio::select! {
                    lost = claim.lease().lost() => Some(lost),
                    () = sleep(self.election.handover) => None,
                }
            };
            let reason = match self.close.run_until_cancelled(handed_over).await {
                Some(None) => self.hold(&claim).await,
                Some(Some(lost)) => lost,
                None => LossReason::Resigned,
            };
            // The listeners have been told of a loss, and of a release that failed.
            claim.release().await.ok();
            if reason != LossReason::Resigned {
                self.close.run_until_cancelled(sleep(self.election.hold_down)).await;
            }
        }
        Ok(())
    }

    /// Waits to be elected. Publishes `Follows` as soon as the first answer shows others in front. Returns `None` once the
    /// candidate is closed, and its contender is withdrawn.
    async fn elected(&self) -> Result<Option<Claim>, LockError> {
        let Election { worker, lock, .. } = &self.election;
        let (witness, position) = (self.candidacy.witness(), self.told.clone());
        // The number in front that the listeners know of.
        let before = AtomicUsize::new(usize::MAX);
        let told = move |progress: Progress| match progress {
            Progress::Queued(ahead) => {
                let is_new = |position: &_| matches!(position, Position::Starts | Position::Refused(_));
                shift(&position, Position::Follows, is_new);
                if before.swap(ahead, Ordering::Relaxed) != ahead {
                    witness.queued(ahead);
                }
            }
            Progress::Connecting | Progress::Entering => before.store(usize::MAX, Ordering::Relaxed),
            Progress::Behind(_) => {}
        };
        let wanted = (lock.wanted.clone(), Contention::Wait);
        match contend::contend(&self.close, worker, &lock.path, wanted, Arc::new(told)).await {
            Err(LockError::Closed { .. }) => Ok(None),
            claims => Ok(claims?.into_iter().flatten().next()),
        }
    }

    /// Leads in one term after another for as long as the lease lasts; returns the reason for its end.
    async fn hold(&self, claim: &Claim) -> LossReason {
        let lease = claim.lease();
        let mut nth = 0;
        loop {
            let leadership = Leadership::begin(&self.election, lease, nth);
            self.told.send_replace(Position::Leads(leadership.clone()));
            leadership.announce(&self.candidacy);
            let reason = tokio::select! {
                biased;
                reason = leadership.unused(&self.close) => reason,
                reason = leadership.ending() => reason,
            };
            self.told.send_replace(Position::Follows);
            let reason = leadership.end(reason).await;
            if reason != LossReason::Suspended {
                return reason;
            }
            let again = async {
                lease.confirmed().await;
                sleep(self.election.hold_down).await;
                lease.confirmed().await;
            };
            tokio::select! {
                biased;
                () = self.close.cancelled() => return LossReason::Resigned,
                reason = lease.lost() => return reason,
                () = again => nth += 1,
            }
            // A write of the term before that may still be applied must not meet a later term under the same node, whose
            // tokens count only so many terms.
            if lease.writing() != Writing::Idle || nth == MAX_GRANTS {
                return reason;
            }
        }
    }
}

/// Publishes a position if the present one is one of these.
fn shift(told: &watch::Sender<Position>, next: Position, is_one: impl Fn(&Position) -> bool) {
    told.send_if_modified(|position| {
        let is_changed = is_one(position);
        if is_changed {
            *position = next;
        }
        is_changed
    });
}

/// Returns the pauses before a candidate runs again after failures.
pub(super) fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(100), Duration::from_secs(30))
}

#[cfg(test)]
mod tests;
