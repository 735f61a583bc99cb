//! The state of one attempt, which is shared by all queues that the attempt enters.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::error::{LockError, Phase};
use crate::lease::Lease;
use crate::path::NodePath;
use crate::queue::claim::Claim;
use crate::session::drive::{Bid, Contention, Driver, Numbers, Outcome, Progress};

use super::patience::Patience;
use super::wanted::Wanted;

pub(super) struct Attempt {
    pub(super) worker: Arc<Worker>,
    pub(super) path: NodePath,
    pub(super) wanted: Wanted,
    pub(super) patience: Patience,
    pub(super) cancel: CancellationToken,
    told: Box<dyn Fn(Progress) + Send + Sync>,
    /// The phase since the session began.
    phase: Mutex<Phase>,
}

impl Attempt {
    pub(super) fn new(
        worker: &Arc<Worker>,
        path: &NodePath,
        (wanted, patience): (Wanted, Patience),
        cancel: CancellationToken,
        told: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Self {
        let (worker, path, told) = (worker.clone(), path.clone(), Box::new(told));
        Self { worker, path, wanted, patience, cancel, told, phase: Mutex::new(Phase::Connecting) }
    }

    pub(super) fn bid(&self, path: NodePath, claim: Claim) -> Bid {
        Bid { path, claim, data: self.worker.identity(), counter: None, numbers: Numbers::Ignored }
    }

    /// Drives a contender, and starts a lease once it holds the lock.
    pub(super) async fn drive(
        &self,
        mut driver: Driver,
        contention: Contention,
        cancel: &CancellationToken,
    ) -> Outcome<Lease> {
        let outcome = driver.acquire(contention, cancel, |progress| self.tell(progress)).await;
        outcome.map(|node| {
            let (lease, keeper) = Lease::begin(driver, self.path.clone(), node, self.worker.events());
            self.worker.spawn(keeper);
            lease
        })
    }

    pub(super) fn tell(&self, progress: Progress) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        *phase = match progress {
            Progress::Connecting => Phase::Connecting,
            // A semaphore's contender enters the second queue after it has waited in the first.
            Progress::Entering if *phase != Phase::Queued => Phase::Entering,
            Progress::Entering | Progress::Queued(_) => Phase::Queued,
        };
        drop(phase);
        (self.told)(progress);
    }

    pub(super) fn timeout(&self) -> LockError {
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        LockError::Timeout { path: self.path.relative().to_owned(), waited: self.patience.wait, phase }
    }

    pub(super) fn closed(&self) -> LockError {
        LockError::Closed { path: self.path.relative().to_owned() }
    }
}
