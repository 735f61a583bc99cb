//! The state that the holders and the keeper of one lease share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::change::Signal;
use crate::error::{LockError, LossReason};
use crate::events::Witness;
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::queue::contender::Name;
use crate::session::sentry::Sentry;
use crate::session::ward::Key;
use crate::session::{Attendance, Session};
use crate::tasks::{Tasks, Unfinished};
use crate::token::FencingToken;

use super::contender::AtRest;
use super::desk::{Desk, Order};
use super::holders::{Holders, Parted};
use super::node::LockNode;
use super::seat::Seat;
use super::stage::Progress;
use super::writes::{Tally, Writes};

/// The state that the holders and the keeper of one lease share.
pub(crate) struct Tenure {
    pub(super) path: NodePath,
    /// The path of the queue, if it is not that of the lock.
    queue: Option<Box<NodePath>>,
    pub(super) node: LockNode,
    /// The zxid of the creation of the first node.
    zxid: i64,
    pub(super) session: Arc<Session>,
    loss: OnceLock<LossReason>,
    /// Signals the loss, a replacement of the node, and the progress of the release.
    pub(super) changed: Signal,
    pub(super) tasks: Tasks,
    pub(super) desk: Desk<AtRest<Self>>,
    /// Whether the ward watches the present node.
    pub(super) is_watched: AtomicBool,
    /// The key of this lease in the ward of its session.
    pub(super) key: Key,
    /// The work of the session and of the client for this lease, until it ends.
    upkeep: Mutex<Option<Upkeep>>,
    pub(super) departure: Progress,
    /// Whether a task watches the node's data for a request to release.
    pub(super) is_watched_for_revocation: AtomicBool,
    pub(super) holders: Holders,
    /// Whether a holder has had it.
    pub(super) is_granted: AtomicBool,
    /// The number of claims to it.
    claims: AtomicU32,
    pub(super) sentry: Arc<Sentry>,
    /// Whether the listeners have been told that the lease is in doubt.
    pub(super) is_suspended: AtomicBool,
    tally: Tally,
    /// Signals what holders of this lease wait for: a change of the holders, the progress of the release, and the end of
    /// the writes under way.
    passing: Signal,
}

/// The work of the session and of the client for one lease, until it ends.
struct Upkeep {
    /// The session sends heartbeats.
    attendance: Option<Attendance>,
    /// The client waits for the release before it is shut down.
    _unfinished: Unfinished,
}

impl Tenure {
    /// Begins the tenure of a node that was seen at the head of its queue. Must run on the client's runtime. `at_rest`
    /// makes the contender that rests from the seat.
    pub(super) fn begin<S: Seat>(
        (seat, at_rest): (S, impl FnOnce(S) -> AtRest<Self>),
        path: NodePath,
        node: &Node,
        tasks: &Tasks,
    ) -> Arc<Self> {
        let session = seat.session().clone();
        seat.begin_watch();
        seat.sentry().note_seen(seat.connection());
        let attendance = Some(session.attend());
        let upkeep = Mutex::new(Some(Upkeep { attendance, _unfinished: tasks.unfinished() }));
        let key = session.next_key();
        let tenure = Arc::new(Self {
            queue: (!seat.queue().is_same(&path)).then(|| Box::new(seat.queue().clone())),
            node: LockNode::new(Name::new(&node.name)),
            path,
            zxid: node.zxid,
            loss: OnceLock::new(),
            changed: Signal::default(),
            tasks: tasks.clone(),
            is_watched: AtomicBool::new(false),
            key,
            upkeep,
            departure: Progress::default(),
            is_watched_for_revocation: AtomicBool::new(false),
            holders: Holders::default(),
            is_granted: AtomicBool::new(false),
            claims: AtomicU32::new(1),
            sentry: seat.sentry().clone(),
            is_suspended: AtomicBool::new(false),
            tally: Tally::default(),
            passing: Signal::default(),
            session,
            desk: Desk::new(at_rest(seat)),
        });
        tenure.session.enroll(key, tenure.clone());
        tenure
    }

    /// Takes note that a holder has it.
    pub(crate) fn note_granted(&self) {
        self.is_granted.store(true, Ordering::Release);
    }

    /// Counts one more claim, on behalf of one that there is.
    pub(super) fn claim(&self) {
        self.claims.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a claim no more. Returns whether it was the last one.
    pub(super) fn end_claim(&self) -> bool {
        self.claims.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns whether there are claims.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claims.load(Ordering::Acquire) > 0
    }

    /// Leaves an order. Fails if nobody performs it any more.
    pub(super) fn order(self: &Arc<Self>, order: Order) -> Result<(), Order> {
        self.desk.order(order).map(|contender| self.put_to_work(contender))
    }

    /// Takes note that the last holder is gone, and makes the contender be withdrawn, after the orders.
    pub(super) fn abandon(self: &Arc<Self>) {
        let contender = self.desk.abandon();
        self.passing.notify();
        self.put_to_work(contender);
    }

    fn put_to_work(self: &Arc<Self>, contender: Option<AtRest<Self>>) {
        if let Some(contender) = contender {
            contender.work(self.clone());
        }
    }

    /// Ends the lease, with the outcome of its release.
    pub(super) fn end(&self, outcome: Result<(), LockError>) {
        self.desk.close();
        self.end_departure();
        self.holders.note_end(outcome);
        self.passing.notify();
        let upkeep = self.upkeep().take();
        drop(upkeep);
    }

    #[inline]
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Returns the path of the queue.
    pub(super) fn queue(&self) -> &NodePath {
        self.queue.as_deref().unwrap_or(&self.path)
    }

    pub(crate) fn token(&self) -> FencingToken {
        FencingToken::new(self.zxid)
    }

    /// The guarded writes under this lease, those of holders that have ended included.
    pub(crate) fn writes(&self) -> Writes<'_> {
        Writes::new(&self.tally, &self.passing)
    }

    /// Removes those of these holders that have given the lock back, and returns their holds.
    pub(super) fn part(&self, which: impl Fn(u32) -> bool) -> Parted {
        let parted = self.holders.part(which);
        self.passing.notify();
        parted
    }

    /// Takes note that the request that releases the lock has been handed to the connection.
    pub(super) fn note_handed_over(&self) {
        self.holders.note_handed_over();
        self.passing.notify();
    }

    /// Waits until there is an answer among the holders.
    pub(super) async fn until_passed<T>(&self, answer: impl Fn(&Holders) -> Option<T>) -> T {
        self.passing.until(|| answer(&self.holders)).await
    }

    #[inline]
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Waits until the lock is lost.
    pub(crate) async fn lost(&self) -> LossReason {
        if self.tasks.is_forked() {
            return LossReason::SessionEnded;
        }
        self.changed.until(|| self.loss()).await
    }

    #[inline]
    pub(crate) fn loss(&self) -> Option<LossReason> {
        self.loss.get().copied()
    }

    /// Returns whether this process is a fork of the one that has the lock.
    pub(crate) fn is_forked(&self) -> bool {
        self.tasks.is_forked()
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
            self.session.dismiss(self.key);
        }
        self.changed.notify();
        // Listeners are told after the state has changed, so that they see it.
        if is_first {
            self.holders.lose().into_iter().for_each(|holding| holding.lost(reason));
        }
        if let LossReason::NodeDeleted | LossReason::OwnerChanged = first {
            // Without a node, the lease needs no heartbeats, even if the holder keeps it.
            let attendance = self.upkeep().as_mut().and_then(|upkeep| upkeep.attendance.take());
            drop(attendance);
        }
        first
    }

    fn upkeep(&self) -> MutexGuard<'_, Option<Upkeep>> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports an event of this lease to the listeners, once for each holder.
    pub(super) fn tell(&self, tell: impl Fn(&Witness)) {
        self.holders.present().iter().for_each(tell);
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("path", &self.path)
            .field("token", &self.token())
            .field("writing", &self.writes().state())
            .finish_non_exhaustive()
    }
}
