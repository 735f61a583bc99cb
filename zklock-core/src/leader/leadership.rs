//! One term of a leader.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{Instrument, Span};

use crate::change::Mutex;
use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::events::{Candidacy, HoldSpan};
use crate::guard::run_while;
use crate::held::{Held, held};
use crate::hold::{self, Part};
use crate::lease::{Lease, LeaseState, Share};
use crate::time::timeout;

use super::election::{Election, Policy};

/// One term of leadership, from its beginning to its end, which is final. Cheap to clone.
///
/// A candidate that leads again, for example after a broken connection, does so in a new term with a greater
/// fencing token.
///
/// It dereferences to [`Held`], which has its path and token, and the writes and reads under it.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<Term>,
    held: Held,
}

struct Term {
    election: Election,
    share: Arc<Share>,
    /// The reason for the end. It is set, and calls are added, under this mutex.
    end: Mutex<Option<LossReason>>,
    over: CancellationToken,
    /// The calls under this term. A shutdown waits for them.
    calls: TaskTracker,
    /// The parts of them that are not interrupted: a step that is being taken, and a body that runs to its
    /// end.
    steps: TaskTracker,
}

/// A call under a term. While this exists, a shutdown waits for it.
#[doc(hidden)]
pub type Call = TaskTrackerToken;

impl Leadership {
    /// Begins the `nth` term under one lease, counted from zero.
    pub(super) fn begin(election: &Election, lease: &Arc<Lease>, nth: u32) -> Self {
        let (election, share) = (election.clone(), Arc::new(Share::new(lease, nth)));
        let (end, over, calls, steps) = Default::default();
        let term = Arc::new(Term { election, share, end, over, calls, steps });
        Self { held: Held::of_term(term.clone()), term }
    }

    /// Reports this term to the event listeners.
    pub(super) fn announce(&self, candidacy: &Candidacy) {
        self.term.share.announce(candidacy.elected(self.fencing_token()));
    }

    /// Returns whether this term still lasts at this instant, by the lease clock and without a request.
    pub fn is_leading(&self) -> bool {
        self.check().is_ok()
    }

    /// Returns a token that is cancelled when this term is over, for libraries that take one.
    ///
    /// Cancelling the token by hand does not end the term.
    pub fn cancellation_token(&self) -> CancellationToken {
        if self.term.share.lease().is_forked() {
            // The token of the term has a mutex, which another thread may have had.
            let over = CancellationToken::new();
            over.cancel();
            return over;
        }
        self.term.over.child_token()
    }

    /// Ends this term at once.
    ///
    /// Leadership is given up in the background, once the bodies under this term have been cancelled.
    pub fn resign(&self) {
        self.term.finish(LossReason::Resigned);
    }

    /// Runs a future under this term, and drops it when the term is over, before another leader can be elected.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] as soon as the end of the term is known. If the term is already over, the future does not
    /// start. The expiry of the session is known in time. If an outsider ends the session or deletes the node, that is
    /// known a moment later.
    ///
    /// # Cancel safety
    ///
    /// The same as that of the future, which is dropped at its current await.
    pub fn run<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
        let future = hold::scope_in_term(self.term.clone(), future);
        async move {
            let _call = self.add_call()?;
            let span = self.span();
            // On the heap, so that the last step drops it if the term is over.
            let body = Box::pin(future.instrument(inside(&span)));
            let mut run = pin!(run_while(|| self.check(), self.lost(), body));
            let outcome = poll_fn(|context| {
                // Taken before the check: either the end of the term waits for this step, or the step sees the
                // end.
                let _step = self.term.steps.token();
                run.as_mut().poll(context)
            });
            noted(span, outcome.await)
        }
    }

    /// Runs a future to its end, even if this term ends in the meantime.
    ///
    /// Use it for work that must not be dropped halfway. As long as leadership still belongs to this client,
    /// as after [`resign`](Self::resign), it is not handed on before the future has ended. If the session is lost, a
    /// successor may work at the same time. A future that never ends keeps leadership. If the term is already over, the
    /// future does not start.
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
    pub fn run_to_end<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LockError>> + use<'_, F> {
        let future = hold::scope_in_term(self.term.clone(), future);
        async move {
            // Taken before the check: either the end of the term waits for the future, or the future does not
            // start.
            let (_call, _step) = (self.add_call()?, self.term.steps.token());
            self.check()?;
            let span = self.span();
            let value = future.instrument(inside(&span)).await;
            noted(span, self.check().map(|()| value))
        }
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
        hold::at_once(self.run_to_end(async { function() }))
    }

    /// Begins a call of generated code, whose body runs later.
    ///
    /// # Errors
    ///
    /// [`LockError::Closed`] if the client is shut down, and [`LockError::Lost`] if the term is over for another reason.
    #[doc(hidden)]
    pub fn begin_call(&self) -> Result<Call, LockError> {
        self.add_call().map_err(|error| match self.term.election.worker.is_closing() {
            true => self.term.election.worker.closed(self.term.share.lease().path()),
            false => error,
        })
    }

    /// Adds a call: either the end of the term waits for it, or it is refused. A forked child takes no lock that another
    /// thread may have had.
    fn add_call(&self) -> Result<Call, LockError> {
        self.check()?;
        let end = self.term.end.lock();
        match *end {
            Some(reason) => Err(self.term.share.lease().lost_error(reason)),
            None => Ok(self.term.calls.token()),
        }
    }

    /// Waits until the candidate is closed and no call is under way under this term, and then ends it.
    pub(super) async fn unused(&self, close: &CancellationToken) -> LossReason {
        close.cancelled().await;
        self.term.calls.close();
        loop {
            self.term.calls.wait().await;
            let mut end = self.term.end.lock();
            if self.term.calls.is_empty() {
                end.get_or_insert(LossReason::Resigned);
                break;
            }
        }
        // Told without the mutex, because code of users may be woken in this thread.
        self.term.finish(LossReason::Resigned)
    }

    /// Waits until this term has to end, and returns the reason; the caller then calls [`end`](Self::end).
    pub(super) async fn ending(&self) -> LossReason {
        let lease = self.term.share.lease();
        tokio::select! {
            biased;
            reason = self.lost() => reason,
            () = lease.suspended(), if self.term.election.policy == Policy::GiveUpWhenSuspended => {
                LossReason::Suspended
            }
        }
    }

    /// Ends this term, waits for the calls under it, and returns the first reason for its end.
    ///
    /// It waits without limit for a step that is being taken, and for a body that runs to its end, because a successor
    /// must not work at the same time. After a grace period it stops waiting for a body that is not polled, because that
    /// body takes no further step.
    pub(super) async fn end(&self, reason: LossReason) -> LossReason {
        let first = self.term.finish(reason);
        // The lease has no part in this end, which is therefore reported here.
        if first == LossReason::Suspended {
            self.term.share.forfeit(LossReason::Suspended);
        }
        let Term { calls, steps, .. } = &*self.term;
        calls.close();
        steps.close();
        if timeout(GRACE, calls.wait()).await.is_err() {
            tracing::error!(path = self.path(), "the body of a leader still runs after the end of its term");
        }
        // Behind the grace, because a body may take a step, its last one, until the grace is over.
        steps.wait().await;
        first
    }

    /// Opens the span of a body, as a child of the present one, if a subscriber wants it. A term may outlast many bodies,
    /// and belongs to no caller.
    fn span(&self) -> Option<HoldSpan> {
        HoldSpan::begin(&self.term.election.lock.subject(None), self.fencing_token())
    }

    /// Returns whether the present call is inside of a body under this term.
    pub(super) fn is_around(&self) -> bool {
        held().iter().any(|held| held.shares().iter().any(|share| Arc::ptr_eq(share, &self.term.share)))
    }
}

impl Deref for Leadership {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Term {
    /// Ends this term for good; the first reason is kept and returned. A forked child takes no lock that another thread may
    /// have had.
    fn finish(&self, reason: LossReason) -> LossReason {
        if self.share.lease().is_forked() {
            return reason;
        }
        let first = *self.end.lock().get_or_insert(reason);
        self.over.cancel();
        first
    }
}

impl Part for Term {
    fn share(&self) -> &Arc<Share> {
        &self.share
    }

    fn worker(&self) -> Option<Arc<Worker>> {
        Some(self.election.worker.clone())
    }

    /// Fails if this term is over. The first failure ends the term, so that a term that was once seen as over
    /// never leads again.
    fn check(&self) -> Result<(), LockError> {
        let known = *self.end.lock();
        let reason = match (known, self.share.lease().state(), self.election.policy) {
            (Some(reason), ..) => reason,
            (None, LeaseState::Lost(reason), _) => self.finish(reason),
            (None, LeaseState::Suspended, Policy::GiveUpWhenSuspended) => self.finish(LossReason::Suspended),
            (None, LeaseState::Suspended | LeaseState::Held, _) => return Ok(()),
        };
        Err(self.share.lease().lost_error(reason))
    }

    fn is_held(&self) -> bool {
        self.check().is_ok()
    }

    fn lost(&self) -> BoxFuture<'_, LossReason> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = self.over.cancelled() => *self.end.lock(),
                reason = self.share.lease().lost() => Some(self.finish(reason)),
            }
            .unwrap_or(LossReason::SessionEnded)
        })
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
#[cfg(not(test))]
const GRACE: Duration = Duration::from_secs(5);
#[cfg(test)]
const GRACE: Duration = Duration::from_millis(200);

/// Returns the span for the body itself.
fn inside(span: &Option<HoldSpan>) -> Span {
    let for_body = span.as_ref().filter(|span| span.is_for_body());
    for_body.map_or_else(Span::none, |span| span.span().clone())
}

/// Closes the span of a body with the outcome, which it returns.
fn noted<T>(span: Option<HoldSpan>, outcome: Result<T, LockError>) -> Result<T, LockError> {
    if let (Some(span), Err(error)) = (&span, &outcome) {
        span.note(error);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use futures_util::poll;
    use tokio::sync::oneshot;

    use crate::client::{connect, connected};
    use crate::{held, inherit};

    use super::*;

    /// Runs under the term, spawns its successor inside of it, and reports the longest scope.
    fn generation(
        term: Leadership,
        parent: oneshot::Receiver<()>,
        (left, longest): (u32, usize),
        done: oneshot::Sender<usize>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            parent.await.unwrap();
            let (tell, told) = oneshot::channel();
            let next = term.clone();
            let inside = async move {
                let longest = longest.max(hold::length());
                match left {
                    0 => done.send(longest).unwrap(),
                    _ => drop(tokio::spawn(inherit(generation(next, told, (left - 1, longest), done)))),
                }
            };
            term.run(inside).await.unwrap();
            tell.send(()).ok();
        })
    }

    #[tokio::test]
    async fn a_leaders_function_that_spawns_itself_has_a_short_scope() {
        let (_server, client) = connected().await;
        let leader = client.leader("/a").unwrap();
        let term = leader.leadership().await.unwrap();
        let ((tell, told), (done, longest)) = (oneshot::channel(), oneshot::channel());
        tell.send(()).unwrap();
        tokio::spawn(generation(term, told, (1_000, 0), done));
        let longest = longest.await.unwrap();
        assert!(longest <= 20, "{longest} terms, of which one is not over");
    }

    #[tokio::test]
    async fn a_value_of_a_body_that_never_runs_finds_its_term() {
        struct Looks<'a>(&'a Cell<usize>);

        impl Drop for Looks<'_> {
            fn drop(&mut self) {
                self.0.set(held().len());
            }
        }

        async fn body(_looks: Looks<'_>) {}

        let (_server, client) = connected().await;
        let term = client.leader("/a").unwrap().leadership().await.unwrap();
        let found = Cell::new(0);
        drop(term.run(body(Looks(&found))));
        assert_eq!(found.take(), 1);
        drop(term.run_to_end(body(Looks(&found))));
        assert_eq!(found.take(), 1);
        term.resign();
        assert!(term.run(body(Looks(&found))).await.unwrap_err().is_lost());
        assert_eq!(found.take(), 1);
    }

    /// Takes its time to be dropped.
    struct Slow(Arc<AtomicBool>);

    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(GRACE * 3);
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_successor_waits_for_a_step_that_begins_in_the_grace_and_ends_behind_it() {
        let (server, client) = connected().await;
        let successor = connect(&server).await;
        let latch = client.leader_latch("/a").unwrap();
        let (term, has_ended) = (latch.leadership().await.unwrap(), Arc::new(AtomicBool::new(false)));
        let slow = Slow(has_ended.clone());
        let mut run = Box::pin(async move {
            let body = async {
                let _slow = slow;
                std::future::pending::<()>().await;
            };
            term.run(body).await
        });
        assert!(poll!(&mut run).is_pending());
        latch.leave();
        thread::spawn(move || {
            thread::sleep(GRACE / 4);
            futures_lite::future::block_on(run)
        });
        successor.leader_latch("/a").unwrap().leadership().await.unwrap();
        assert!(has_ended.load(Ordering::SeqCst), "the body of the leader before still takes a step");
    }
}
