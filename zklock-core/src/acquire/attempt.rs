//! The state of one attempt, which is shared by all queues that the attempt enters.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;

use crate::client::settings::LongWait;
use crate::client::worker::Worker;
use crate::error::{Holder, LockError, Phase};
use crate::lease::Lease;
use crate::path::NodePath;
use crate::queue::claim::Claim;
use crate::session::drive::{Bid, Contention, Driver, Numbers, Outcome, Progress};

use super::onlooker::{Onlooker, Use};
use super::patience::Patience;
use super::wanted::Wanted;

/// The leases that an attempt has taken, mostly one.
pub(crate) type Leases = SmallVec<[Lease; 1]>;

/// The end of a contest for a lock: its leases, or a reason to give up.
pub(crate) type Contested = Result<Option<Leases>, LockError>;

/// A contest for a lock.
pub(crate) type Contest = Pin<Box<dyn Future<Output = Contested> + Send>>;

pub(super) struct Attempt {
    pub(super) worker: Arc<Worker>,
    pub(super) path: NodePath,
    pub(super) wanted: Wanted,
    pub(super) patience: Patience,
    pub(super) cancel: CancellationToken,
    onlooker: Arc<dyn Onlooker>,
    place: Mutex<Place>,
}

/// The place of an attempt, as far as it is known.
struct Place {
    /// The phase since the session began.
    phase: Phase,
    /// The contender in the way.
    holder: Option<Holder>,
}

impl Attempt {
    pub(super) fn new(
        worker: &Arc<Worker>,
        path: &NodePath,
        (wanted, patience): (Wanted, Patience),
        cancel: CancellationToken,
        onlooker: Arc<dyn Onlooker>,
    ) -> Self {
        let (worker, path) = (worker.clone(), path.clone());
        let place = Mutex::new(Place { phase: Phase::Connecting, holder: None });
        Self { worker, path, wanted, patience, cancel, onlooker, place }
    }

    pub(super) fn bid(&self, path: NodePath, claim: Claim) -> Bid {
        let (lock, data) = (self.path.clone(), self.worker.identity());
        Bid { lock, path, claim, data, counter: None, numbers: Numbers::Ignored }
    }

    /// Drives a contender, and starts a lease once it holds the lock.
    pub(super) async fn drive(
        &self,
        mut driver: Driver,
        contention: Contention,
        cancel: &CancellationToken,
    ) -> Outcome<Lease> {
        let outcome = driver.acquire(contention, cancel, |progress| self.tell(progress)).await;
        outcome.map(|node| Lease::begin(driver, self.path.clone(), &node, self.worker.tasks()))
    }

    pub(super) fn tell(&self, progress: Progress) {
        let mut place = self.place();
        let (phase, holder) = match &progress {
            Progress::Connecting => (Phase::Connecting, None),
            // A semaphore's contender enters the second queue after it has waited in the first.
            Progress::Entering if place.phase != Phase::Queued => (Phase::Entering, None),
            Progress::Entering | Progress::Queued(_) => (Phase::Queued, None),
            Progress::Behind(holder) => (Phase::Queued, Some(holder.clone())),
        };
        // A contender at the gate of a semaphore has no permit.
        let holder = holder.filter(|_| !matches!(self.wanted, Wanted::Permits(_)));
        *place = Place { phase, holder };
        drop(place);
        if self.onlooker.note(progress) == Use::Over {
            // The contender leaves before it asks for a watch.
            self.cancel.cancel();
        }
    }

    pub(super) fn timeout(&self) -> LockError {
        let Place { phase, holder } = &*self.place();
        let (path, holder) = (self.path.relative().to_owned(), holder.clone());
        LockError::Timeout { path, waited: self.patience.wait, phase: *phase, holder }
    }

    pub(super) fn long_wait(&self) -> LongWait<'_> {
        let Place { phase, holder } = &*self.place();
        LongWait { path: &self.path, phase: *phase, holder: holder.clone(), calls: 1 }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn closed(&self) -> LockError {
        LockError::Closed { path: self.path.relative().to_owned() }
    }
}
