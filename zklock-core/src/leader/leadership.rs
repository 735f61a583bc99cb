//! One term of a leader.

mod write;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::guard::running::run_while;
use crate::lease::{LeaseState, Tenure};
use crate::token::FencingToken;

use super::office::Policy;

/// One term of leadership, from the election until it ends for ever. Cheap to clone.
///
/// A leader that leads again, also after a broken connection, has another term with a greater token.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<Term>,
}

struct Term {
    worker: Arc<Worker>,
    tenure: Arc<Tenure>,
    token: FencingToken,
    policy: Policy,
    end: OnceLock<LossReason>,
    over: CancellationToken,
    /// What runs under this term.
    bodies: TaskTracker,
    /// What of it is not to be interrupted: a step that is taken just now, and what runs to its end.
    steps: TaskTracker,
}

impl Leadership {
    /// The `nth` term under one lease, counted from zero.
    pub(super) fn begin(worker: Arc<Worker>, tenure: Arc<Tenure>, policy: Policy, nth: u32) -> Self {
        let token = tenure.token().handed_on(nth);
        let (end, over) = (OnceLock::new(), CancellationToken::new());
        let (bodies, steps) = (TaskTracker::new(), TaskTracker::new());
        Self { term: Arc::new(Term { worker, tenure, token, policy, end, over, bodies, steps }) }
    }

    /// The path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.term.tenure.path().relative()
    }

    /// The epoch: a number that is greater than those of all terms before, whoever led.
    pub fn fencing_token(&self) -> FencingToken {
        self.term.token
    }

    /// Tells whether this term goes on at this instant, by the lease clock and without a request.
    pub fn is_leading(&self) -> bool {
        self.check().is_ok()
    }

    /// Waits until this term is over, and says why.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; the end is told to everyone who asks, also later.
    pub async fn lost(&self) -> LossReason {
        tokio::select! {
            biased;
            () = self.term.over.cancelled() => self.term.end.get().copied(),
            reason = self.term.tenure.lost() => Some(self.finish(reason)),
        }
        .unwrap_or(LossReason::SessionEnded)
    }

    /// A token that is cancelled when this term is over, for libraries that take one.
    ///
    /// Cancelling it by hand changes nothing about the term.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.term.over.child_token()
    }

    /// Ends this term at once; the office is given up in the background, when what ran under this term is
    /// cancelled.
    pub fn resign(&self) {
        self.finish(LossReason::Resigned);
    }

    /// Asks the servers whether this term goes on: one round trip.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if it does not, [`LockError::Timeout`] if they do not answer within the client's
    /// default wait.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn verify(&self) -> Result<(), LockError> {
        self.check()?;
        let (asked, within) = (self.term.tenure.clone(), self.term.worker.default_wait());
        let answer = self.term.worker.call(within, async move { asked.settle().await }).await;
        self.check()?;
        answer.map_err(|unanswered| unanswered.into_error(self.term.tenure.path(), within))
    }

    /// Runs a future, and drops it when this term is over, before another leader can be elected.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`]; `Ok` means that the term went on until the future ended.
    ///
    /// # Cancel safety
    ///
    /// That of the future, which is dropped where it is.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, LockError> {
        let _running = self.term.bodies.token();
        // Boxed, so that the futures of locked calls that are nested do not multiply in size.
        let mut run = pin!(run_while(|| self.check(), self.lost(), Box::pin(future)));
        poll_fn(|context| {
            // Before the check, so that either this step is waited for, or it sees that the term is over.
            let _step = self.term.steps.token();
            run.as_mut().poll(context)
        })
        .await
    }

    /// Runs a future to its end, also when this term is over meanwhile.
    ///
    /// It is for what must not be dropped halfway. As long as the office is still this client's, as after
    /// [`resign`](Self::resign) or in a short outage, it is not handed on before the future has ended; if the
    /// session is lost, a successor may work beside it. A future that does not end keeps the office. In a term
    /// that is over already it does not begin.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`]; `Ok` means that the term went on until the future ended.
    ///
    /// # Cancel safety
    ///
    /// That of the future, which is dropped where it is: so it is when what awaits it is dropped, as the callback of a
    /// selector is at the end of its term.
    pub async fn run_to_end<F: Future>(&self, future: F) -> Result<F::Output, LockError> {
        // Before the check, so that either it is waited for, or it sees that the term is over.
        let _step = self.term.steps.token();
        self.check()?;
        let value = Box::pin(future).await;
        self.check().map(|()| value)
    }

    /// Calls a function on this thread, also when this term is over meanwhile.
    ///
    /// It is [`run_to_end`](Self::run_to_end) for code that is not async.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`]; `Ok` means that the term went on until the function returned.
    pub fn run_blocking<T>(&self, function: impl FnOnce() -> T) -> Result<T, LockError> {
        let _step = self.term.steps.token();
        self.check()?;
        let value = function();
        self.check().map(|()| value)
    }

    /// Waits until this term has to end, and says why; the leader is still in office then.
    pub(super) async fn ending(&self) -> LossReason {
        let tenure = &self.term.tenure;
        tokio::select! {
            biased;
            reason = self.lost() => reason,
            () = tenure.suspended(), if self.term.policy == Policy::GiveUpWhenSuspended => {
                LossReason::Suspended
            }
        }
    }

    /// Ends this term, and waits for what runs under it.
    ///
    /// What is not polled any more is not waited for in the end, because it will not take another step. A step
    /// that does not end is, and what runs to its end, because a successor must not work beside it.
    pub(super) async fn end(&self, reason: LossReason) {
        self.finish(reason);
        let Term { bodies, steps, .. } = &*self.term;
        bodies.close();
        steps.close();
        if timeout(GRACE, bodies.wait()).await.is_err() {
            tracing::error!(path = self.path(), "what a leader runs does not end although its term is over");
        }
        steps.wait().await;
    }

    /// Ends this term for ever; the first reason stays.
    fn finish(&self, reason: LossReason) -> LossReason {
        let first = *self.term.end.get_or_init(|| reason);
        self.term.over.cancel();
        first
    }

    /// Fails once this term is over. What makes it fail once ends the term, so that it does not lead again
    /// after it was seen not to.
    fn check(&self) -> Result<(), LockError> {
        let Term { tenure, policy, end, .. } = &*self.term;
        let reason = match (end.get(), tenure.state(), policy) {
            (Some(reason), ..) => *reason,
            (None, LeaseState::Lost(reason), _) => self.finish(reason),
            (None, LeaseState::Suspended, Policy::GiveUpWhenSuspended) => self.finish(LossReason::Suspended),
            (None, LeaseState::Suspended | LeaseState::Held, _) => return Ok(()),
        };
        Err(tenure.lost_error(reason))
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

/// How long what runs under a term is given to end, when the term is over.
const GRACE: Duration = Duration::from_secs(5);
