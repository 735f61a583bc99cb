//! The state of one attempt, which is shared by all queues that the attempt enters.

use std::pin::Pin;
use std::sync::Arc;

use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::error::LockError;
use crate::lease::Lease;
use crate::path::NodePath;
use crate::queue::claim::Claim;
use crate::session::drive::{Bid, Contention, Driver, Numbers, Outcome, Progress};

use super::onlooker::{Onlooker, Use};
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
    pub(super) contention: Contention,
    pub(super) cancel: CancellationToken,
    onlooker: Arc<dyn Onlooker>,
}

impl Attempt {
    pub(super) fn new(
        worker: &Arc<Worker>,
        path: &NodePath,
        (wanted, contention): (Wanted, Contention),
        cancel: CancellationToken,
        onlooker: Arc<dyn Onlooker>,
    ) -> Self {
        let (worker, path) = (worker.clone(), path.clone());
        Self { worker, path, wanted, contention, cancel, onlooker }
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
        if self.onlooker.note(progress) == Use::Over {
            // The contender leaves before it asks for a watch.
            self.cancel.cancel();
        }
    }

    pub(super) fn closed(&self) -> LockError {
        LockError::Closed { path: self.path.relative().to_owned() }
    }
}
