//! What is known of one held node.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;

use crate::change::{Mutex, Signal};
use crate::error::{LockError, LossReason};
use crate::events::{HoldEnd, Witness};
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::session::Session;
use crate::session::drive::Driver;
use crate::session::own_node::OwnNode;
use crate::token::FencingToken;

use super::holders::Holders;

/// The state of a lock as its holder can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// The lock is held.
    Held,
    /// The connection broke, and the servers have not confirmed the lock since. It may be lost already. No other
    /// client has it yet, unless an outsider has deleted its node or ended its session.
    ///
    /// The state becomes `Held` again when the servers confirm the lock, or `Lost`.
    Suspended,
    /// The lock is lost forever.
    Lost(LossReason),
}

/// What is known of one held node: valid, suspended or lost; whom to tell; how far its release is. Its holders, its claims
/// and its task share it.
pub(crate) struct Lease {
    pub(super) path: NodePath,
    /// The path of the node. `None` while a downgrade replaces it.
    node: Mutex<Option<Arc<str>>>,
    /// The downgrades that the task has not begun.
    downgrades: Mutex<Vec<Report>>,
    /// The zxid of the creation of the first node.
    zxid: i64,
    pub(super) session: Arc<Session>,
    loss: OnceLock<LossReason>,
    pub(super) holders: Holders,
    /// The number of its shares that have not ended.
    pub(super) shares: AtomicU32,
    pub(super) own_node: Arc<OwnNode>,
    /// The number of the guarded writes under this lease whose outcomes are not known, those of holders that have ended
    /// included, and whether that of one will never be.
    pub(super) writes: AtomicU32,
}

/// An order to the task of a node.
pub(super) enum Order {
    /// Let readers share the lock. The outcome is reported if the caller still waits for it.
    Downgrade(Report),
    /// Withdraw the contender, because nobody has a claim any more.
    Leave,
}

pub(super) type Report = oneshot::Sender<Result<(), LockError>>;

impl Lease {
    /// Begins the lease of a node that was seen at the head of its queue.
    pub(super) fn begin(driver: &Driver, path: NodePath, node: &Node) -> Self {
        let session = driver.session().clone();
        driver.begin_watch();
        let own = driver.path().child(&node.name).into();
        Self {
            node: Mutex::new(Some(own)),
            downgrades: Mutex::default(),
            path,
            zxid: node.zxid,
            loss: OnceLock::new(),
            holders: Holders::default(),
            shares: AtomicU32::new(0),
            own_node: driver.own_node().clone(),
            writes: AtomicU32::new(0),
            session,
        }
    }

    /// Returns whether there are claims.
    pub(crate) fn is_claimed(&self) -> bool {
        !self.own_node.news().is_given_up
    }

    /// Orders that readers may share the lock, on behalf of a claim. The returned future waits until the server has applied it
    /// or the lock is lost. After a loss it may take long until the servers report the outcome, so this does not wait for it.
    pub(crate) fn downgrade(self: &Arc<Self>) -> impl Future<Output = Result<(), LockError>> + Send + use<> {
        let (report, outcome) = oneshot::channel();
        if !self.is_forked() {
            self.downgrades.lock().push(report);
            self.changed().notify();
        }
        let lease = self.clone();
        async move {
            tokio::select! {
                biased;
                Ok(outcome) = outcome => outcome,
                reason = lease.lost() => Err(lease.lost_error(reason)),
            }
        }
    }

    /// Returns the next order to the task. The contender is withdrawn behind the downgrades.
    pub(super) fn next_order(&self) -> Option<Order> {
        let downgrade = self.downgrades.lock().pop().map(Order::Downgrade);
        downgrade.or_else(|| (!self.is_claimed()).then_some(Order::Leave))
    }

    /// Signals the loss, a replacement of the node, orders to the task, the progress of the release, the ends of writes, and the
    /// news of the node.
    pub(super) fn changed(&self) -> &Signal {
        self.own_node.changed()
    }

    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    pub(crate) fn token(&self) -> FencingToken {
        FencingToken::new(self.zxid)
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Waits until the lock is lost.
    pub(crate) async fn lost(&self) -> LossReason {
        if self.is_forked() {
            return LossReason::SessionEnded;
        }
        self.changed().until(|| self.loss()).await
    }

    pub(crate) fn loss(&self) -> Option<LossReason> {
        self.loss.get().copied()
    }

    /// Returns whether this process is a fork of the one that has the lock.
    pub(crate) fn is_forked(&self) -> bool {
        self.session.tasks.is_forked()
    }

    /// Fails if this process is a fork, where another thread of the parent may have had a mutex.
    pub(crate) fn check_process(&self) -> Result<(), LockError> {
        if self.is_forked() { Err(self.lost_error(LossReason::SessionEnded)) } else { Ok(()) }
    }

    pub(crate) fn lost_error(&self, reason: LossReason) -> LockError {
        let path = self.path.relative().to_owned();
        if self.is_forked() { LockError::Forked { path } } else { LockError::Lost { path, reason } }
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
            self.changed().notify();
            // Listeners are told after the state has changed, so that they see it.
            let losers = self.holders.lose(|holder| !holder.has_returned);
            losers.into_iter().for_each(|holding| holding.end(HoldEnd::Lost(reason)));
        }
        first
    }

    /// Watches the data of the node, to which others write requests to release.
    pub(crate) fn watch_requests(&self) {
        self.own_node.note(|news| news.is_read = true);
    }

    /// Waits until the holder is asked to release. Waits forever if it never is.
    pub(crate) async fn asked(&self) {
        self.own_node.until(|news| news.is_asked).await;
    }

    /// Waits until no replacement of the lock's node is under way, and returns the node's path on the server.
    ///
    /// A request that the caller sends before it yields again reaches the server before a later replacement.
    pub(crate) async fn node(&self) -> Arc<str> {
        self.changed().until(|| self.present_node()).await
    }

    /// Returns the paths of the nodes of several leases, at a moment when none of them is being replaced.
    pub(crate) async fn nodes(leases: &[Arc<Self>]) -> Vec<Arc<str>> {
        loop {
            for lease in leases {
                lease.node().await;
            }
            if let Some(nodes) = leases.iter().map(|lease| lease.present_node()).collect() {
                return nodes;
            }
        }
    }

    fn present_node(&self) -> Option<Arc<str>> {
        self.node.lock().clone()
    }

    /// Takes note that the lock's node is being replaced, and returns its path.
    pub(super) fn begin_replacement(&self) -> Option<Arc<str>> {
        let replaced = self.node.lock().take();
        self.own_node.note(|news| news.is_leaving = true);
        replaced
    }

    /// Takes note that the lock's node has this path, and is not being replaced any more. No watch tells of others.
    pub(super) fn end_replacement(&self, path: Option<Arc<str>>) {
        *self.node.lock() = path;
        self.own_node.note(|news| {
            news.note_others();
            news.is_leaving = false;
        });
        self.changed().notify();
    }

    /// Reports an event of this lease to the listeners, once for each holder.
    pub(super) fn tell(&self, tell: impl Fn(&Witness)) {
        self.holders.present().iter().for_each(tell);
    }

    /// Returns the current state, by the lease clock and without I/O. The caller knows that this process is not a fork.
    pub(crate) fn state(&self) -> LeaseState {
        match self.loss_by_now() {
            Some(reason) => LeaseState::Lost(reason),
            None if self.is_confirmed() => LeaseState::Held,
            None => LeaseState::Suspended,
        }
    }

    /// Returns whether the servers have confirmed the lease since the connection last broke.
    pub(super) fn is_confirmed(&self) -> bool {
        self.session.link().is_on(self.own_node.news().connection)
    }

    /// Fails if the lock is lost. The caller knows that this process is not a fork.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        self.loss_by_now().map_or(Ok(()), |reason| Err(self.lost_error(reason)))
    }

    /// Returns the reason for a loss that is known, or that the session and the lease clock show now. The holders are told.
    pub(super) fn loss_by_now(&self) -> Option<LossReason> {
        self.present_loss().map(|reason| self.lose(reason))
    }

    /// Returns the reason for a loss that is known, or that the session and the lease clock show now, and tells nobody.
    pub(super) fn present_loss(&self) -> Option<LossReason> {
        let ended = || self.session.is_over().then_some(LossReason::SessionEnded);
        let expired = || (!self.session.clock().is_valid()).then_some(LossReason::LeaseExpired);
        self.loss().or_else(ended).or_else(expired)
    }
}
