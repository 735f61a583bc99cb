//! One term of a leader.

mod calls;
mod inside;
mod spanned;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::events::Candidacy;
use crate::guard::running::run_while;
use crate::lease::{LeaseState, Share, Stint, Tenure};
use crate::token::FencingToken;

use super::candidate::{CandidateConfig, Policy};

use self::calls::Calls;
use self::spanned::{inside, noted};

pub use self::calls::Call;

/// One term of leadership, from its beginning to its end, which is final. Cheap to clone.
///
/// A candidate that leads again, for example after a broken connection, does so in a new term with a greater
/// fencing token.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<Term>,
}

struct Term {
    worker: Arc<Worker>,
    share: Arc<Share>,
    /// The name of the election in spans.
    label: Cow<'static, str>,
    policy: Policy,
    end: OnceLock<LossReason>,
    over: CancellationToken,
    /// The bodies that run under this term.
    bodies: TaskTracker,
    /// The parts of them that are not interrupted: a step that is being taken, and a body that runs to its
    /// end.
    steps: TaskTracker,
    calls: Calls,
}

impl Leadership {
    /// Begins the `nth` term under one lease, counted from zero.
    pub(super) fn begin(config: &CandidateConfig, tenure: &Arc<Tenure>, nth: u32) -> Self {
        let share = Arc::new(Share::new(Stint::new(tenure, nth)));
        let (worker, label, policy) = (config.worker.clone(), config.lock.label.clone(), config.policy);
        let (end, over) = (OnceLock::new(), CancellationToken::new());
        let (bodies, steps, calls) = Default::default();
        Self { term: Arc::new(Term { worker, share, label, policy, end, over, bodies, steps, calls }) }
    }

    /// Reports this term to the event listeners.
    pub(super) fn announce(&self, candidacy: &Candidacy) {
        self.term.share.announce(candidacy.elected(self.fencing_token()));
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.term.share.tenure().path().relative()
    }

    /// Returns the epoch of this term, which is greater than that of every earlier term of any candidate.
    pub fn fencing_token(&self) -> FencingToken {
        self.term.share.token()
    }

    /// Returns whether this term still lasts at this instant, by the lease clock and without a request.
    pub fn is_leading(&self) -> bool {
        self.check().is_ok()
    }

    /// Waits until this term is over, and returns the reason.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: every later call returns the same reason.
    pub async fn lost(&self) -> LossReason {
        tokio::select! {
            biased;
            () = self.term.over.cancelled() => self.term.end.get().copied(),
            reason = self.term.share.tenure().lost() => Some(self.finish(reason)),
        }
        .unwrap_or(LossReason::SessionEnded)
    }

    /// Returns a token that is cancelled when this term is over, for libraries that take one.
    ///
    /// Cancelling the token by hand does not end the term.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.term.over.child_token()
    }

    /// Ends this term at once.
    ///
    /// Leadership is given up in the background, once the bodies under this term have been cancelled.
    pub fn resign(&self) {
        self.finish(LossReason::Resigned);
    }

    /// Asks the servers whether this term still lasts, in one round trip.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the term is over, and [`LockError::Timeout`] if the servers do not answer
    /// within the client's default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.current().verify().await
    }

    /// Runs a future under this term, and drops it when the term is over, before another leader can be
    /// elected.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the end of the term is known when the future ends. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of the future, which is dropped at its current await.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, LockError> {
        let (_call, _running) = (self.add_call()?, self.term.bodies.token());
        let span = self.span();
        // Boxed, so that the futures of nested locked calls do not multiply in size.
        let future = Box::pin(self.scope(future.instrument(inside(&span))));
        let mut run = pin!(run_while(|| self.check(), self.lost(), future));
        let outcome = poll_fn(|context| {
            // Taken before the check: either the end of the term waits for this step, or the step sees the
            // end.
            let _step = self.term.steps.token();
            run.as_mut().poll(context)
        });
        noted(span, outcome.await)
    }

    /// Runs a future to its end, even if this term ends in the meantime.
    ///
    /// Use it for work that must not be dropped halfway. As long as leadership still belongs to this client,
    /// as after [`resign`](Self::resign), it is not handed on before the future has ended. If the session is lost, a successor may work at the same time. A future that never ends keeps
    /// leadership. If the term is already over, the future does not start.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the end of the term is known when the future ends. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of the future, which is dropped at its current await. This also happens if an outer
    /// future is dropped, such as the callback of a selector at the end of its term.
    pub async fn run_to_end<F: Future>(&self, future: F) -> Result<F::Output, LockError> {
        // Taken before the check: either the end of the term waits for the future, or the future does not
        // start.
        let (_call, _step) = (self.add_call()?, self.term.steps.token());
        self.check()?;
        let span = self.span();
        let value = Box::pin(self.scope(future.instrument(inside(&span)))).await;
        noted(span, self.check().map(|()| value))
    }

    /// Calls a function on this thread, even if this term ends in the meantime.
    ///
    /// This is [`run_to_end`](Self::run_to_end) for code that is not async.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the end of the term is known when the function returns. The expiry of the
    /// session is known in time. If an outsider ends the session or deletes the node, that is known a moment later.
    pub fn run_blocking<T>(&self, function: impl FnOnce() -> T) -> Result<T, LockError> {
        let (_call, _step) = (self.add_call()?, self.term.steps.token());
        self.check()?;
        let span = self.span();
        let value = inside(&span).in_scope(|| self.scope_blocking(function));
        noted(span, self.check().map(|()| value))
    }

    /// Begins a call of generated code, whose body runs later.
    ///
    /// # Errors
    ///
    /// [`LockError::Closed`] if the client is shut down, and [`LockError::Lost`] if the term is over for another reason.
    #[doc(hidden)]
    pub fn begin_call(&self) -> Result<Call, LockError> {
        let begun = self.add_call().and_then(|call| self.check().map(|()| call));
        begun.map_err(|error| match self.term.worker.is_closing() {
            true => self.term.worker.closed(self.term.share.tenure().path()),
            false => error,
        })
    }

    /// Adds a call. A forked child takes no lock that another thread may have had.
    fn add_call(&self) -> Result<Call, LockError> {
        self.check()?;
        Ok(self.term.calls.begin())
    }

    /// Waits until the candidate is closed and no call is under way under this term, and then ends it.
    pub(super) async fn unused(&self, close: &CancellationToken) -> LossReason {
        close.cancelled().await;
        let end = || {
            self.term.end.set(LossReason::Resigned).ok();
        };
        self.term.calls.until_none(end).await;
        // Told without the mutex, because code of users may be woken in this thread.
        self.finish(LossReason::Resigned)
    }

    /// Waits until this term has to end, and returns the reason; the caller then calls [`end`](Self::end).
    pub(super) async fn ending(&self) -> LossReason {
        let tenure = self.term.share.tenure();
        tokio::select! {
            biased;
            reason = self.lost() => reason,
            () = tenure.suspended(), if self.term.policy == Policy::GiveUpWhenSuspended => {
                LossReason::Suspended
            }
        }
    }

    /// Ends this term, and waits for the bodies under it.
    ///
    /// After a grace period it stops waiting for a body that is not polled, because that body takes no
    /// further step. It waits without limit for a step that is being taken, and for a body that runs to its
    /// end, because a successor must not work at the same time.
    pub(super) async fn end(&self, reason: LossReason) {
        // The lease has no part in this end, which is therefore reported here.
        if self.finish(reason) == LossReason::Suspended {
            self.term.share.forfeit(LossReason::Suspended);
        }
        let Term { bodies, steps, .. } = &*self.term;
        bodies.close();
        steps.close();
        if timeout(GRACE, bodies.wait()).await.is_err() {
            tracing::error!(path = self.path(), "the body of a leader still runs after the end of its term");
        }
        steps.wait().await;
    }

    /// Ends this term for good; the first reason is kept and returned.
    fn finish(&self, reason: LossReason) -> LossReason {
        let first = *self.term.end.get_or_init(|| reason);
        if !self.term.share.tenure().is_forked() {
            self.term.over.cancel();
        }
        first
    }

    /// Fails if this term is over. The first failure ends the term, so that a term that was once seen as over
    /// never leads again.
    fn check(&self) -> Result<(), LockError> {
        let Term { share, policy, end, .. } = &*self.term;
        let reason = match (end.get(), share.tenure().state(), policy) {
            (Some(reason), ..) => *reason,
            (None, LeaseState::Lost(reason), _) => self.finish(reason),
            (None, LeaseState::Suspended, Policy::GiveUpWhenSuspended) => self.finish(LossReason::Suspended),
            (None, LeaseState::Suspended | LeaseState::Held, _) => return Ok(()),
        };
        Err(share.tenure().lost_error(reason))
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("path", &self.path())
            .field("fencing_token", &self.fencing_token())
            .field("is_leading", &self.is_leading())
            .finish()
    }
}

/// The time that the bodies under a term have to end after it is over.
const GRACE: Duration = Duration::from_secs(5);
