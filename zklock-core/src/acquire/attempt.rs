//! The state of one attempt, which is shared by all queues that the attempt enters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::error::{LockError, Phase};
use crate::events::LockEventKind;
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
    pub(super) progress: watch::Sender<Progress>,
    /// Whether others were in front since the session began. A semaphore's contender passes two queues, and
    /// enters the second one after it has waited in the first.
    was_queued: AtomicBool,
}

impl Attempt {
    pub(super) fn new(
        worker: &Arc<Worker>,
        path: &NodePath,
        (wanted, patience): (Wanted, Patience),
        cancel: CancellationToken,
        progress: watch::Sender<Progress>,
    ) -> Self {
        let (worker, path) = (worker.clone(), path.clone());
        Self { worker, path, wanted, patience, cancel, progress, was_queued: AtomicBool::new(false) }
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
        let before = self.progress.send_replace(progress);
        match progress {
            Progress::Connecting => self.was_queued.store(false, Ordering::Relaxed),
            Progress::Queued(_) => self.was_queued.store(true, Ordering::Relaxed),
            Progress::Entering => {}
        }
        if let (Progress::Queued(ahead), true) = (progress, progress != before) {
            self.worker.events().tell(&self.path, || LockEventKind::Queued { ahead });
        }
    }

    pub(super) fn timeout(&self) -> LockError {
        LockError::Timeout {
            path: self.path.relative().to_owned(),
            waited: self.patience.wait,
            phase: match *self.progress.borrow() {
                Progress::Connecting => Phase::Connecting,
                Progress::Entering if !self.was_queued.load(Ordering::Relaxed) => Phase::Entering,
                Progress::Entering | Progress::Queued(_) => Phase::Queued,
            },
        }
    }

    pub(super) fn closed(&self) -> LockError {
        LockError::Closed { path: self.path.relative().to_owned() }
    }
}
