//! One attempt to acquire a lock, which is the only way to a lease.
//!
//! An attempt runs on the client's own thread, until it is cancelled.
//!
//! * [`permits`]: the permits of a semaphore, which take two queues.
//!
//! Uses the layers below: `client`, `lease`, `session`, `queue`, `events`, `path` and `error`.

use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
use futures_util::future::Either;
use smallvec::smallvec;
use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::events::Witness;
use crate::path::NodePath;
use crate::queue::claim::Claim;
use crate::session::Session;
use crate::session::drive::{Contention, Driver, Numbers, Outcome, Progress};

mod agreement;
mod attempt;
mod onlooker;
mod patience;
mod permits;
#[cfg(test)]
pub(crate) mod staged;
mod wanted;

use self::attempt::Attempt;

pub(crate) use self::attempt::{Contest, Contested, Leases};
pub(crate) use self::onlooker::{Onlooker, Use};
pub(crate) use self::patience::Patience;
pub(crate) use self::wanted::{Count, Permits, Wanted};

/// Contends for the lock without a deadline, as [`contend`] does. The future is on the heap.
pub(crate) fn contend_boxed(
    cancel: &CancellationToken,
    worker: &Arc<Worker>,
    path: &NodePath,
    wanted: Wanted,
    onlooker: Arc<dyn Onlooker>,
) -> Contest {
    Box::pin(contend(cancel, worker, path, (wanted, Contention::Wait), onlooker))
}

/// Contends for the lock without a deadline. Returns `None` if others have it and the contender is not to wait. The future must
/// be polled on the client's thread. `onlooker` is told the progress.
///
/// Fails with [`LockError::Closed`] once `cancel` is cancelled, or the attempt is of no use any more, and the contender is
/// withdrawn.
pub(crate) fn contend(
    cancel: &CancellationToken,
    worker: &Arc<Worker>,
    path: &NodePath,
    (wanted, contention): (Wanted, Contention),
    onlooker: Arc<dyn Onlooker>,
) -> impl Future<Output = Contested> + Send + use<> {
    #[cfg(test)]
    if let Some(stage) = staged::current() {
        return Either::Left(stage.contend(cancel.clone(), (worker, path), (&wanted, contention), onlooker));
    }
    let attempt = Attempt::new(worker, path, (wanted, contention), cancel.clone(), onlooker);
    let contest = async move { attempt.contest().await };
    #[cfg(test)]
    let contest = Either::Right(contest);
    contest
}

/// Returns a function that tells the listeners how many contenders are in front, whenever the number changes.
pub(crate) fn teller(witness: Witness) -> impl Fn(Progress) + Send + Sync + 'static {
    let before = Mutex::new(None);
    move |progress| {
        if !witness.is_heard() || matches!(progress, Progress::Behind(_)) {
            return;
        }
        let before = before.lock().unwrap_or_else(PoisonError::into_inner).replace(progress.clone());
        if let (Progress::Queued(ahead), true) = (&progress, Some(&progress) != before.as_ref()) {
            witness.queued(*ahead);
        }
    }
}

impl Attempt {
    /// Contends in one session after another, until the lock is acquired or the attempt is over.
    async fn contest(&self) -> Result<Option<Leases>, LockError> {
        loop {
            self.tell(Progress::Connecting);
            let session = self.worker.session(&self.path, &self.cancel).await?;
            self.tell(Progress::Entering);
            match self.take(session).await {
                Outcome::Held(leases) => return Ok(Some(leases)),
                Outcome::Contended => return Ok(None),
                Outcome::Refused(error) => return Err(error),
                Outcome::Cancelled => return Err(self.closed()),
                Outcome::SessionLost if self.cancel.is_cancelled() => return Err(self.closed()),
                // The next session enters the queue at its tail.
                Outcome::SessionLost => {}
            }
        }
    }

    /// Contends for one lock within one session. The contests that take more than one place are boxed, so that the others,
    /// which are the most, have small futures.
    async fn take(&self, session: Arc<Session>) -> Outcome<Leases> {
        match &self.wanted {
            Wanted::Place(place) | Wanted::NextPlace(place) => {
                let claim = Claim::Place(place.clone());
                let mut bid = self.bid(self.path.clone(), claim);
                bid.numbers = Numbers::Used;
                let mut driver = Driver::new(session, bid);
                if let Wanted::NextPlace(_) = self.wanted {
                    driver.settle();
                }
                let held = self.drive(driver, self.contention, &self.cancel).await;
                held.map(|lease| smallvec![lease])
            }
            Wanted::Permits(wanted) => Box::pin(permits::contest(self, &session, wanted)).await,
            Wanted::Office { place, identity } => {
                let mut bid = self.bid(self.path.clone(), Claim::Place(place.clone()));
                bid.data = identity.clone();
                let held = self.drive(Driver::new(session, bid), Contention::Wait, &self.cancel).await;
                held.map(|lease| smallvec![lease])
            }
        }
    }
}
