//! What a contender is asked for, and its way in each queue.

use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::client::worker::Worker;
use crate::deadline::Contention;
use crate::error::LockError;
use crate::lease::Claim;
use crate::path::NodePath;
use crate::queue::predicate::{Place, Predicate};
use crate::session::counter::Counter;
use crate::session::drive::{Driver, NotAcquired, Parameters, Progress};

/// What a contender is to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A place in one queue.
    Place(Place),
    /// Permits of a semaphore, all or none.
    Permits(Permits),
    /// A place in the queue of an election, with the candidate's identity as the data of its node.
    Candidacy { place: Place, identity: Arc<str> },
}

/// A number of permits of one semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permits {
    pub(crate) wanted: u32,
    pub(crate) count: Count,
}

/// The number of permits of a semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Each participant is given this number, which is stored in the semaphore's node.
    Agreed(u32),
    /// All participants use the number in the node at `path`, which is created with `seed` if it is missing.
    Shared { path: NodePath, seed: u32 },
}

impl Permits {
    /// Returns the number of permits, or the seed of a shared number with its counter.
    pub(super) fn counter(&self) -> (u32, Option<Counter>) {
        match &self.count {
            Count::Agreed(of) => (*of, None),
            Count::Shared { path, seed } => (*seed, Some(Counter::new(path.clone(), *seed))),
        }
    }
}

impl Count {
    /// Returns the data by which a semaphore's node states this number.
    pub(super) fn statement(&self) -> String {
        match self {
            Self::Agreed(of) => of.to_string(),
            Self::Shared { path, .. } => path.full().to_owned(),
        }
    }
}

/// The claims to what a contender has taken, mostly one.
pub(crate) type Claims = Vec<Claim>;

/// The end of a contender: its claims, or a reason to give up.
pub(crate) type Contested = Result<Option<Claims>, LockError>;

/// A contender on the heap.
pub(crate) type Contending = Pin<Box<dyn Future<Output = Contested> + Send>>;

/// The party that is told the progress of a contender.
pub(crate) type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// What one contender is asked for. It enters one queue, or the two of a semaphore.
pub(super) struct Request {
    pub(super) worker: Arc<Worker>,
    pub(super) path: NodePath,
    pub(super) wanted: Wanted,
    pub(super) contention: Contention,
    pub(super) cancel: CancellationToken,
    pub(super) listener: Listener,
}

impl Request {
    pub(super) fn parameters(&self, path: NodePath, predicate: Predicate) -> Parameters {
        let (lock, data) = (self.path.clone(), self.worker.settings.identity.clone());
        Parameters { lock, path, predicate, data, counter: None }
    }

    /// Drives a contender in one queue, and begins its lease once it holds.
    pub(super) async fn drive(
        &self,
        mut driver: Driver,
        cancel: &CancellationToken,
    ) -> Result<Claim, NotAcquired> {
        let node = driver.acquire(self.contention, cancel, |progress| (self.listener)(progress)).await?;
        Ok(Claim::begin(driver, self.path.clone(), &node))
    }
}
