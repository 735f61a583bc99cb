//! A candidate that leads while its callback runs.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::change::Mutex;
use crate::client::worker::Backoff;
use crate::contend::Wanted;
use crate::error::{LockError, LossReason, Phase};
use crate::mode::Mode;
use crate::participant::Participant;
use crate::time::sleep;

use super::election::Election;
use super::latch::{LeaderLatch, Position, backoff};
use super::leadership::{Call, Leadership};

/// A candidate that leads while its callback runs (Curator's `LeaderSelector`).
///
/// When the callback returns, leadership is given up. The candidate runs again only if it is told to: once by
/// [`requeue`](Self::requeue), or always by [`Election::auto_requeue`](crate::Election::auto_requeue). It
/// then goes to the tail of the candidates, so that each of them leads in turn. Dropping the selector closes
/// it in the background.
///
/// When the client is [shut down](crate::Client::shutdown), a callback that runs has the grace period to end. When the selector
/// is closed or dropped, the callback is dropped at its next await.
///
/// If the servers refuse a candidate that always runs again, it tries again: after about 100 ms, and then
/// after pauses that double up to 30 s. Each refusal is logged as an error. Any other selector ends with
/// [`Ended::Failed`].
pub struct LeaderSelector {
    election: Election,
    inner: Arc<Inner>,
    ended: Shared<BoxFuture<'static, Ended>>,
}

/// What the handle of a selector and its task share.
struct Inner {
    election: Election,
    /// Cancelled when the candidate is to leave. A callback that runs then goes on until it, or its term, has ended.
    close: CancellationToken,
    /// Whether the candidate is to run once more.
    is_queued: watch::Sender<bool>,
    /// The present latch, which the task has.
    latch: Mutex<Weak<LeaderLatch>>,
    last_failure: Mutex<Option<String>>,
}

/// The callback of a user.
type Callback = Arc<dyn Fn(Leadership) -> BoxFuture<'static, Judge> + Send + Sync>;

/// Returns the failure that a callback has returned.
type Judge = Box<dyn FnOnce() -> Option<String> + Send>;

impl Election {
    /// Enters the election as a selector, which leads while `callback` runs (Curator's `LeaderSelector`).
    ///
    /// The callback runs on the caller's runtime, once per term. When it returns, leadership is given up. If
    /// the term ends first, the callback is dropped at its next await; until then, the candidate keeps its
    /// place in the election. The callback, its future and its errors are also formatted and dropped on that
    /// runtime. While the runtime is blocked, the candidate keeps its place, and may lead without a callback.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime.
    pub fn select<F, R>(mut self, callback: F) -> LeaderSelector
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        if let Wanted::Candidacy { place, .. } = &mut self.lock.wanted {
            place.role = Mode::Exclusive;
        }
        LeaderSelector::start(self, callback)
    }
}

impl LeaderSelector {
    fn start<F, R>(election: Election, callback: F) -> Self
    where
        F: Fn(Leadership) -> R + Send + Sync + 'static,
        R: Future<Output: Verdict> + Send + 'static,
    {
        let (own, close) = (election.without_client(), election.worker.closing.child_token());
        let (is_queued, latch, last_failure) = Default::default();
        let inner = Arc::new(Inner { election: own, close, is_queued, latch, last_failure });
        let callback: Callback = Arc::new(move |term| {
            let judge = |verdict: R::Output| Box::new(move || verdict.failure()) as Judge;
            callback(term).map(judge).boxed()
        });
        let task = tokio::spawn(inner.clone().run(inner.join(), callback));
        // Without an end of its own, the task has ended with its runtime.
        let ended = task.map(|ended| ended.unwrap_or(Ended::Closed)).boxed().shared();
        Self { election, inner, ended }
    }

    /// Returns the path of the election below the client's namespace.
    pub fn path(&self) -> &str {
        self.election.path()
    }

    /// Returns whether this candidate leads at this instant, from memory and by the lease clock.
    pub fn has_leadership(&self) -> bool {
        self.led().is_some()
    }

    /// Makes this candidate run once more: after its term, or at once if it waits for this call. Returns `false` if
    /// an earlier call has not taken effect yet. With [`auto_requeue`](crate::Election::auto_requeue), it has no
    /// effect.
    ///
    /// A selector that has [`ended`](Self::ended) does not run again.
    pub fn requeue(&self) -> bool {
        // A forked child takes no lock that another thread may have had.
        self.election.check().is_ok() && !self.inner.is_queued.send_replace(true)
    }

    /// Ends the current term, if there is one; its callback is dropped at its next await, or does not begin any more.
    pub fn interrupt(&self) {
        if let Some((latch, term)) = self.led() {
            // A candidate whose callback has not begun is not elected again either.
            latch.close.cancel();
            term.resign();
        }
    }

    fn led(&self) -> Option<(Arc<LeaderLatch>, Leadership)> {
        // A forked child takes no lock that another thread may have had.
        self.election.check().ok()?;
        let latch = self.inner.latch()?;
        latch.current().map(|term| (latch, term))
    }

    /// Returns the last failure as text: the error or the panic of a callback, or the refusal of the servers
    /// after which the candidate tried again.
    pub fn last_failure(&self) -> Option<String> {
        self.election.check().ok()?;
        self.inner.last_failure.lock().clone()
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

    /// Waits until this candidate has ended, and returns the reason.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn ended(&self) -> Ended {
        if self.election.check().is_err() {
            return Ended::Closed;
        }
        self.ended.clone().await
    }

    /// Leaves the election, and waits until the callback has ended and leadership is given up.
    ///
    /// Closing a selector that has already ended has no effect.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] if that takes longer than the client's default wait, for example because the
    /// callback does not reach an await. The candidate keeps its place as long as the callback runs.
    ///
    /// # Cancel safety
    ///
    /// The selector is closed in the background.
    pub async fn close(self) -> Result<Ended, LockError> {
        self.election.check()?;
        self.inner.leave();
        let waited = self.election.worker.default_wait();
        self.election.within(waited, || Phase::Releasing, self.ended().map(Ok)).await
    }
}

impl Drop for LeaderSelector {
    fn drop(&mut self) {
        if self.election.check().is_ok() {
            self.inner.leave();
        }
    }
}

impl fmt::Debug for LeaderSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderSelector")
            .field("path", &self.path())
            .field("has_leadership", &self.has_leadership())
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// The task of a selector, on the runtime of its callback, which alone calls and drops what belongs to the user. It
    /// runs for one term, and again as often as the candidate is to run.
    async fn run(self: Arc<Self>, mut latch: Arc<LeaderLatch>, callback: Callback) -> Ended {
        let mut failures = backoff();
        loop {
            let pause = match self.lead(&latch, &callback, &mut failures).await {
                Ok(pause) => pause,
                Err(ended) => return ended,
            };
            if self.close.run_until_cancelled(self.queued(pause)).await.is_none() {
                return Ended::Closed;
            }
            latch = self.join();
        }
    }

    /// Runs the callback for one term. The candidate has left the election when this returns the pause before the next term.
    async fn lead(
        &self,
        latch: &LeaderLatch,
        callback: &Callback,
        failures: &mut Backoff,
    ) -> Result<Duration, Ended> {
        let Some((term, call)) = self.elected(latch).await? else { return Ok(Duration::ZERO) };
        // It leads in this term only, which lasts until its call has ended.
        latch.close.cancel();
        // The handle sees the term, or this sees that the handle has closed the selector.
        if self.close.is_cancelled() {
            term.resign();
        }
        let (callback, held) = (callback.clone(), term.clone());
        // A task of its own, whose panic does not end this one.
        let body = tokio::spawn(async move {
            let outcome = held.run(async { callback(held.clone()).await }).await;
            // Leadership is given up before the outcome is judged, which may take long.
            drop(call);
            // If the term ended before the callback, there is no verdict.
            outcome.ok().and_then(|judge| judge())
        });
        let body = body.await;
        latch.ended().await;
        let failure = match body {
            Ok(failure) => failure,
            Err(error) if error.is_cancelled() => return Err(Ended::Closed),
            Err(error) => Some(describe(error)),
        };
        if let Some(failure) = failure {
            tracing::error!(path = self.election.path(), failure, "the callback of a leader failed");
            self.note_failure(failure);
            return Ok(failures.lengthen().max(self.election.hold_down));
        }
        failures.reset();
        Ok(if term.lost().await == LossReason::Resigned { Duration::ZERO } else { self.election.hold_down })
    }

    /// Waits for a term, and begins the call that keeps it. Returns `None` if the term is interrupted before that.
    async fn elected(&self, latch: &LeaderLatch) -> Result<Option<(Leadership, Call)>, Ended> {
        let mut position = latch.position.clone();
        loop {
            let present = position.borrow_and_update().clone();
            match present {
                Position::Leads(term) => {
                    if let Ok(call) = term.begin_call() {
                        return Ok(Some((term, call)));
                    }
                }
                Position::Refused(error) if !self.election.auto_requeue => {
                    self.leave();
                    latch.ended().await;
                    return Err(Ended::Failed(error));
                }
                // The latch tries again.
                Position::Refused(error) => self.note_failure(error.to_string()),
                Position::Closed if self.close.is_cancelled() => return Err(Ended::Closed),
                Position::Closed => return Ok(None),
                Position::Starts | Position::Elected | Position::Follows => {}
            }
            position.changed().await.map_err(|_| Ended::Closed)?;
        }
    }

    /// Returns the present latch, outside of the mutex, because a look at its term may wake code of users in this thread.
    fn latch(&self) -> Option<Arc<LeaderLatch>> {
        self.latch.lock().upgrade()
    }

    /// Enters the election, at the tail of the candidates. The end of the latch, with the task or its runtime, leaves it.
    fn join(&self) -> Arc<LeaderLatch> {
        let latch = Arc::new(LeaderLatch::join(self.election.clone(), self.close.child_token()));
        *self.latch.lock() = Arc::downgrade(&latch);
        latch
    }

    /// Leaves the election, without a grace for the callback.
    fn leave(&self) {
        self.close.cancel();
        if let Some(latch) = self.latch() {
            latch.leave();
        }
    }

    /// Waits for `pause`, and then until the candidate is to run again.
    async fn queued(&self, pause: Duration) {
        sleep(pause).await;
        if !self.election.auto_requeue {
            self.is_queued.subscribe().wait_for(|is_queued| *is_queued).await.ok();
        }
        self.is_queued.send_replace(false);
    }

    /// Keeps the reason of the last failure, as text.
    fn note_failure(&self, failure: String) {
        *self.last_failure.lock() = Some(failure);
    }
}

/// Describes a panic as text, and drops its payload, whose drop may itself panic.
fn describe(panic: JoinError) -> String {
    let text = panic.to_string();
    catch_unwind(AssertUnwindSafe(move || drop(panic))).ok();
    text
}

/// The reason why a selector has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The selector or its client was closed, or the runtime of its callback has shut down.
    Closed,
    /// The candidate cannot run, for this reason. A selector with
    /// [`auto_requeue`](crate::Election::auto_requeue) does not end: it tries again after a pause.
    Failed(LockError),
}

/// The return type of a callback: `()`, or a `Result` whose error is reported.
///
/// It is asked and dropped on the runtime of the callback, after leadership was given up. It may take long.
pub trait Verdict: Send + 'static {
    /// Returns the failure as text, if there was one.
    fn failure(self) -> Option<String>;
}

impl Verdict for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>> + Send + 'static> Verdict for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.into().to_string())
    }
}
