//! The state that the holder and the keeper of one lease share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::change;
use crate::error::{LockError, LossReason};
use crate::events::{Holding, Witness};
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::session::clock::Moment;
use crate::session::sentry::Sentry;
use crate::session::{Health, Session};
use crate::token::FencingToken;

use super::desk::Desk;
use super::holders::Holders;
use super::revocation::Revocation;
use super::seat::Seat;
use super::state::LeaseState;
use super::writes::Writes;

/// The state that the holder and the keeper of one lease share.
pub(crate) struct Tenure {
    pub(super) path: NodePath,
    /// The path of the lock's node on the server; `None` while the node is being replaced.
    node: Mutex<Option<Arc<str>>>,
    token: FencingToken,
    pub(super) session: Arc<Session>,
    /// The last epoch of the connection in which the lease was seen to be valid.
    pub(super) epoch: AtomicU64,
    loss: OnceLock<LossReason>,
    /// Signals the loss, and a replacement of the node.
    changed: Notify,
    pub(super) desk: Desk,
    pub(super) revocation: Revocation,
    pub(super) holders: Holders,
    /// Whether a holder has had it.
    pub(super) is_granted: AtomicBool,
    pub(super) sentry: Arc<Sentry>,
    /// Whether the listeners have been told that the lease is in doubt.
    pub(super) is_suspended: AtomicBool,
    writes: Writes,
}

impl Tenure {
    /// Begins the tenure of a node that was seen at the head of its queue. Must run on the client's runtime.
    pub(super) fn begin(seat: &impl Seat, path: NodePath, node: &Node) -> Self {
        let session = seat.session().clone();
        seat.begin_watch();
        Self {
            node: Mutex::new(Some(seat.queue().child(&node.name).into())),
            path,
            token: FencingToken::new(node.zxid),
            epoch: AtomicU64::new(seat.epoch()),
            loss: OnceLock::new(),
            changed: Notify::new(),
            desk: Desk::default(),
            revocation: Revocation::new(seat.sentry().clone()),
            holders: Holders::default(),
            is_granted: AtomicBool::new(false),
            sentry: seat.sentry().clone(),
            is_suspended: AtomicBool::new(false),
            writes: Writes::default(),
            session,
        }
    }

    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Waits until no replacement of the lock's node is under way, and returns the node's path on the server.
    ///
    /// A request that the caller sends before it yields again reaches the server before a later replacement.
    pub(crate) async fn node(&self) -> Arc<str> {
        change::until(&self.changed, || self.present_node()).await
    }

    fn present_node(&self) -> Option<Arc<str>> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the path of the lock's node, or `None` while it is being replaced. Returns the path before.
    pub(super) fn set_node(&self, node: Option<Arc<str>>) -> Option<Arc<str>> {
        let before = std::mem::replace(&mut *self.node.lock().unwrap_or_else(PoisonError::into_inner), node);
        self.changed.notify_waiters();
        before
    }

    /// Returns the paths of the nodes of several leases, at a moment when none of them is being replaced.
    pub(crate) async fn nodes(tenures: &[Arc<Self>]) -> Vec<Arc<str>> {
        loop {
            for tenure in tenures {
                tenure.node().await;
            }
            let nodes = tenures.iter().map(|tenure| tenure.present_node());
            if let Some(nodes) = nodes.collect() {
                return nodes;
            }
        }
    }

    pub(crate) fn revocation(&self) -> &Revocation {
        &self.revocation
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.token
    }

    /// The guarded writes under this lease, those of holders that have ended included.
    pub(crate) fn writes(&self) -> &Writes {
        &self.writes
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the current state, by the lease clock and without I/O.
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
        change::until(&self.changed, || self.loss()).await
    }

    pub(crate) fn loss(&self) -> Option<LossReason> {
        self.loss.get().copied()
    }

    pub(crate) fn lost_error(&self, reason: LossReason) -> LockError {
        LockError::Lost { path: self.path.relative().to_owned(), reason }
    }

    /// Marks the lease as lost, and returns the reason, which is that of the first loss.
    pub(crate) fn lose(&self, reason: LossReason) -> LossReason {
        let mut is_first = false;
        let first = *self.loss.get_or_init(|| {
            is_first = true;
            reason
        });
        if is_first {
            tracing::warn!(path = %self.path, %reason, "lock lost");
        }
        self.changed.notify_waiters();
        // Listeners are told after the state has changed, so that they see it.
        if is_first {
            self.holders.lose().into_iter().for_each(|holding| holding.lost(reason));
        }
        first
    }

    /// Reports the end of the holds of those that have given the lock back, because the holder with this token, which
    /// came after them, has it now.
    pub(crate) fn succeed(&self, token: FencingToken) {
        self.holders.part(|earlier| earlier < token).into_iter().for_each(Holding::passed_on);
    }

    /// Reports an event of this lease to the listeners, once for each holder.
    pub(super) fn tell(&self, tell: impl Fn(&Witness)) {
        self.holders.present().iter().for_each(tell);
    }

    pub(super) fn valid_until(&self) -> Moment {
        self.session.clock().valid_until()
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("path", &self.path)
            .field("token", &self.token)
            .field("writing", &self.writes.state())
            .finish_non_exhaustive()
    }
}
