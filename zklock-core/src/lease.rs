//! The proof that our contender is at the head of the queue, and the signal that it is not any more.
//!
//! A lease is no time-to-live: it lasts until it is released or lost. It is lost, once and for ever, when
//! its node is gone or belongs to another session, when the session ended, or when the lease clock ran
//! out (see `session::clock`), which it does before the servers may hand the lock on.

mod keeper;
mod token;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::LockError;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::session::clock::Moment;
use crate::session::drive::Driver;
use crate::session::fault::Fault;
use crate::session::{Attendance, Health, Ownership, Session};

use self::keeper::Unkept;

pub use self::token::FencingToken;

/// Why a lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Somebody else deleted the lock's node.
    NodeDeleted,
    /// The lock's node belongs to another session now.
    OwnerChanged,
    /// The session expired, or was closed.
    SessionEnded,
    /// The servers did not answer for so long that they may have handed the lock on.
    LeaseExpired,
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeDeleted => "its node was deleted by somebody else",
            Self::OwnerChanged => "its node belongs to another session",
            Self::SessionEnded => "the session ended",
            Self::LeaseExpired => "the servers did not answer in time",
        })
    }
}

/// What a holder may believe of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// The lock is held.
    Held,
    /// The connection broke: the lock is held or not, and nobody else has it yet.
    ///
    /// It becomes `Held` again when the servers confirm it, or `Lost`.
    Suspended,
    /// The lock is lost for ever.
    Lost(LossReason),
}

/// A held lock; dropping it withdraws the contender in the background.
#[derive(Debug)]
pub(crate) struct Lease {
    tenure: Arc<Tenure>,
    /// Taken by `release`; the keeper withdraws when it is dropped.
    release: Option<oneshot::Sender<Released>>,
}

/// Where the keeper reports what came of a release.
type Released = oneshot::Sender<Result<(), LockError>>;

/// What the holder and the keeper of one lease share.
pub(crate) struct Tenure {
    path: NodePath,
    /// The lock node's path on the server.
    node: String,
    token: FencingToken,
    session: Arc<Session>,
    /// The connection's epoch in which the lease was seen valid last.
    epoch: AtomicU64,
    loss: OnceLock<LossReason>,
    signal: CancellationToken,
    _attendance: Attendance,
}

impl Lease {
    /// Starts the tenure of a node that was seen at the head; must run on the client's runtime.
    ///
    /// Returns what keeps it, to be spawned by the caller.
    pub(crate) fn begin(
        driver: Driver,
        path: NodePath,
        node: Node,
        release_within: Duration,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let session = driver.session().clone();
        let tenure = Arc::new(Tenure {
            node: path.child(&node.name),
            path,
            token: FencingToken::new(node.zxid),
            epoch: AtomicU64::new(driver.epoch()),
            loss: OnceLock::new(),
            signal: CancellationToken::new(),
            _attendance: session.attend(),
            session,
        });
        let (release, released) = oneshot::channel();
        let keeper = keeper::keep(Unkept::new(tenure.clone()), driver, released, release_within);
        (Self { tenure, release: Some(release) }, keeper)
    }

    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        &self.tenure
    }

    /// Withdraws the contender and waits until it is gone.
    pub(crate) async fn release(mut self) -> Result<(), LockError> {
        let lost = |reason| self.tenure.lost_error(reason);
        let (reply, outcome) = oneshot::channel();
        let sent = self.release.take().map(|release| release.send(reply));
        match sent {
            Some(Ok(())) => outcome.await.unwrap_or_else(|_| Err(lost(LossReason::SessionEnded))),
            _ => Err(lost(self.tenure.loss().unwrap_or(LossReason::SessionEnded))),
        }
    }
}

impl Tenure {
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.token
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The state at this instant, by the lease clock and without I/O.
    pub(crate) fn state(&self) -> LeaseState {
        if let Some(reason) = self.loss.get() {
            return LeaseState::Lost(*reason);
        }
        if self.session.is_over() {
            return LeaseState::Lost(self.lose(LossReason::SessionEnded));
        }
        if self.session.clock().remaining().is_zero() {
            return LeaseState::Lost(self.lose(LossReason::LeaseExpired));
        }
        let link = self.session.link();
        if link.health == Health::Connected && link.epoch == self.epoch.load(Ordering::Acquire) {
            LeaseState::Held
        } else {
            LeaseState::Suspended
        }
    }

    /// Fails if the lock is lost.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        match self.state() {
            LeaseState::Lost(reason) => Err(self.lost_error(reason)),
            LeaseState::Held | LeaseState::Suspended => Ok(()),
        }
    }

    /// Waits until the lock is lost.
    pub(crate) async fn lost(&self) -> LossReason {
        self.signal.cancelled().await;
        self.loss().unwrap_or(LossReason::SessionEnded)
    }

    pub(crate) fn loss(&self) -> Option<LossReason> {
        self.loss.get().copied()
    }

    pub(crate) fn lost_error(&self, reason: LossReason) -> LockError {
        LockError::Lost { path: self.path.relative().to_owned(), reason }
    }

    /// Ends the lease; the first reason stays.
    pub(crate) fn lose(&self, reason: LossReason) -> LossReason {
        let first = *self.loss.get_or_init(|| {
            tracing::warn!(path = %self.path, %reason, "lock lost");
            reason
        });
        self.signal.cancel();
        first
    }

    /// Asks the servers whether the node is still there and ours.
    pub(crate) async fn verify(&self) -> Result<(), Fault> {
        let epoch = self.session.link().epoch;
        let owner = self.session.ops().owner(&self.node).await?;
        match Ownership::of(owner, self.session.id()) {
            // Of two verifications at a time, the one of the later epoch stands.
            Ownership::Ours => {
                self.epoch.fetch_max(epoch, Ordering::AcqRel);
            }
            Ownership::Foreign => {
                self.lose(LossReason::OwnerChanged);
            }
            Ownership::Gone => {
                self.lose(LossReason::NodeDeleted);
            }
        }
        Ok(())
    }

    /// Verifies until the servers answered, or the session is over.
    pub(crate) async fn settle(&self) {
        while let Err(fault) = self.verify().await {
            if let Fault::SessionOver = fault {
                self.lose(LossReason::SessionEnded);
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn valid_until(&self) -> Moment {
        self.session.clock().valid_until()
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure").field("path", &self.path).field("token", &self.token).finish_non_exhaustive()
    }
}

/// Between attempts to verify a lease.
const PAUSE: Duration = Duration::from_millis(100);
