//! One attempt to take a lock: the only way to a lease.
//!
//! It runs on the client's own thread, with one deadline that is fixed at the start. The caller only
//! awaits the answer: dropping that is all it takes to cancel, and needs no runtime of the caller's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::error::{LockError, Phase};
use crate::lease::Lease;
use crate::path::NodePath;
use crate::session::drive::{Contention, Driver, Outcome};

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// What the caller gave; `Duration::MAX` and all that a clock cannot count mean for ever.
    pub(crate) wait: Duration,
    pub(crate) spent: Duration,
    pub(crate) contention: Contention,
}

impl Patience {
    pub(crate) fn new(wait: Duration, contention: Contention) -> Self {
        Self { wait, spent: Duration::ZERO, contention }
    }

    /// The patience of the same attempt, of which so much is spent.
    pub(crate) fn spent(self, spent: Duration) -> Self {
        Self { spent, ..self }
    }

    pub(crate) fn left(self) -> Duration {
        if self.wait == Duration::MAX { self.wait } else { self.wait.saturating_sub(self.spent) }
    }
}

/// Takes the lock, or says that others have it where the caller does not want to wait for them.
///
/// Dropping the future withdraws the contender in the background.
pub(crate) async fn acquire(
    worker: &Arc<Worker>,
    path: &NodePath,
    patience: Patience,
) -> Result<Option<Lease>, LockError> {
    let (reply, answer) = oneshot::channel();
    let attempt = Attempt {
        worker: worker.clone(),
        path: path.clone(),
        patience,
        cancel: worker.closing().child_token(),
        phase: Mutex::new(Phase::Connecting),
    };
    worker.spawn(attempt.run(reply));
    answer.await.unwrap_or_else(|_| Err(LockError::Closed { path: path.relative().to_owned() }))
}

type Reply = oneshot::Sender<Result<Option<Lease>, LockError>>;

/// How the wait for a contest ended.
enum End {
    Answered(Result<Option<Lease>, LockError>),
    Failed(LockError),
    /// Nobody waits for an answer any more.
    Abandoned,
}

struct Attempt {
    worker: Arc<Worker>,
    path: NodePath,
    patience: Patience,
    cancel: CancellationToken,
    phase: Mutex<Phase>,
}

impl Attempt {
    async fn run(self, mut reply: Reply) {
        let deadline = Instant::now().checked_add(self.patience.left());
        let mut contest = Box::pin(self.contest());
        let end = tokio::select! {
            biased;
            answer = &mut contest => End::Answered(answer),
            () = reply.closed() => End::Abandoned,
            () = self.cancel.cancelled() => End::Failed(self.closed()),
            () = expiry(deadline) => End::Failed(self.timeout()),
        };
        self.cancel.cancel();
        match end {
            // A caller that is gone by now drops the lease with the answer, which releases it.
            End::Answered(answer) => drop(reply.send(answer)),
            End::Failed(error) => {
                reply.send(Err(error)).ok();
                // The contest goes on until its contender is withdrawn.
                drop(contest.await);
            }
            End::Abandoned => drop(contest.await),
        }
    }

    /// Contends in one session after the other, until the lock is taken or the attempt is over.
    async fn contest(&self) -> Result<Option<Lease>, LockError> {
        loop {
            self.enter(Phase::Connecting);
            let session = self.worker.session(&self.path, &self.cancel).await?;
            self.enter(Phase::Entering);
            let mut driver = Driver::new(session, self.path.clone(), self.worker.identity());
            let phase = |phase| self.enter(phase);
            match driver.acquire(self.patience.contention, &self.cancel, phase).await {
                Outcome::Held(node) => {
                    let within = self.worker.default_wait();
                    let (lease, keeper) = Lease::begin(driver, self.path.clone(), node, within);
                    self.worker.spawn(keeper);
                    return Ok(Some(lease));
                }
                Outcome::Contended => return Ok(None),
                Outcome::Refused(error) => return Err(error),
                Outcome::Cancelled => return Err(self.closed()),
                Outcome::SessionLost if self.cancel.is_cancelled() => return Err(self.closed()),
                // The next session enters the queue at its tail.
                Outcome::SessionLost => {}
            }
        }
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn timeout(&self) -> LockError {
        LockError::Timeout {
            path: self.path.relative().to_owned(),
            waited: self.patience.wait,
            phase: *self.phase.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn closed(&self) -> LockError {
        LockError::Closed { path: self.path.relative().to_owned() }
    }
}

async fn expiry(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
