//! Performs the actions of an acquisition, and reports their outcomes to the state machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::deadline::Contention;
use crate::error::{Holder, LockError, LossReason, Refusal};
use crate::path::NodePath;
use crate::queue::acquisition::{Acquisition, Action, End, Event, Node};
use crate::queue::contender::ContenderId;
use crate::queue::predicate::{Predicate, Role};
use crate::time::sleep;

use super::counter::Counter;
use super::own_node::{NodeWatcher, OwnNode};
use super::queues::{WatchId, Way};
use super::request_error::RequestError;
use super::{Health, Session};
use crate::connection::Watch;

mod entering;
mod requests;
mod waiting;

/// The progress of an acquisition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// No session is open.
    Connecting,
    /// The place in the queue is not confirmed yet.
    Entering,
    /// This many contenders are in front.
    Queued(usize),
    /// This one is the nearest of them. It follows `Queued`, which tells their number.
    Behind(Holder),
}

/// The reason why an acquisition ended without the lock. Its contender was withdrawn.
pub(crate) enum NotAcquired {
    /// Others are in front.
    Contended,
    /// The caller cancelled.
    Cancelled,
    /// The lock cannot be acquired, for this reason.
    Refused(LockError),
    /// The session ended, and the contender with it.
    SessionLost,
}

/// The parameters of an acquisition.
pub(crate) struct Parameters {
    /// The path of the lock: the queue itself, or the node above it.
    pub(crate) lock: NodePath,
    /// The path of the queue.
    pub(crate) path: NodePath,
    pub(crate) predicate: Predicate,
    /// The data of the contender's node.
    pub(crate) data: Arc<str>,
    /// The node from which the number of permits is read, if the number may change.
    pub(crate) counter: Option<Counter>,
}

impl Parameters {
    /// Returns whether the contender may be first without a list.
    ///
    /// It is that of a mutex or a read-write lock, or a candidate of a selector. One that honours the contenders of other clients has to see which of them
    /// are there.
    fn may_skip_list(&self) -> bool {
        let is_lock = matches!(self.predicate.role(), Role::Exclusive | Role::Read | Role::Write);
        is_lock && self.lock == self.path && self.predicate.also_behind().is_empty()
    }
}

/// The driver of one acquisition within one session.
pub(crate) struct Driver {
    session: Arc<Session>,
    lock: NodePath,
    path: NodePath,
    data: Arc<str>,
    /// Boxed, because most contenders have none.
    counter: Option<Box<Counter>>,
    machine: Acquisition,
    action: Action,
    /// The reason why the acquisition was refused, if it was.
    refusal: Option<Box<LockError>>,
    /// The watch on the children of a contender that claims a permit, or on the own node of one that waited for another.
    children: Option<Watch>,
    /// Whether the last list showed others, or the turn was inherited.
    has_others: bool,
    own_node: Arc<OwnNode>,
    /// The bytes of the contender's path that the session counts, as long as its node exists or may exist.
    counted: usize,
    /// The way in which the contender enters its queue next.
    way: Way,
    /// The watch on the queue's node under which the own node exists.
    watch: Option<WatchId>,
    /// Whether the contender may be first without a list.
    may_skip_list: bool,
    /// Whether the path has been checked for a semaphore in use, which happens once.
    is_settled: bool,
    /// The connection on which the place in the queue was last seen.
    connection: u64,
    /// The connection on which the queue was last listed, or created.
    listed: u64,
    pause: Duration,
}

impl Driver {
    pub(crate) fn new(session: Arc<Session>, parameters: Parameters) -> Self {
        let may_skip_list = parameters.may_skip_list();
        let Parameters { lock, path, predicate, data, counter } = parameters;
        let id = ContenderId::new(Uuid::new_v4());
        let (machine, action) = Acquisition::start(id, predicate, session.id());
        let connection = session.link().connection;
        Self {
            session,
            lock,
            path,
            data,
            counter: counter.map(Box::new),
            machine,
            action,
            refusal: None,
            children: None,
            has_others: false,
            own_node: Arc::default(),
            counted: 0,
            way: Way::List,
            watch: None,
            may_skip_list,
            is_settled: false,
            connection,
            listed: connection,
            pause: SHORTEST_PAUSE,
        }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the id that the names of this acquisition's nodes contain.
    pub(crate) fn id(&self) -> ContenderId {
        self.machine.id()
    }

    /// Returns what is known of the contender's node.
    pub(crate) fn own_node(&self) -> &Arc<OwnNode> {
        &self.own_node
    }

    /// Returns the path of the queue.
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Begins to watch over the node that was seen at the head of its queue.
    pub(crate) fn begin_watch(&self) {
        self.own_node.note_list(self.has_others.then(Instant::now));
        self.own_node.note_seen(self.connection);
    }

    /// Resolves when the own node, at this path, is gone or belongs to another session.
    pub(crate) fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + use<> {
        let (session, known) = (self.session.clone(), self.own_node.clone());
        let (listed, has_others) = (self.listed, self.has_others);
        NodeWatcher { session, path, listed, has_others, known }.gone(self.children.take())
    }

    /// Drives the acquisition until it is the contender's turn, its node belongs to this session, and the lease is valid, or
    /// until the contender is gone.
    ///
    /// Reports the progress to `tell`. Requests under way are never abandoned: `cancel` takes
    /// effect between requests and while waiting for others.
    pub(crate) async fn acquire(
        &mut self,
        contention: Contention,
        cancel: &CancellationToken,
        tell: impl Fn(Progress),
    ) -> Result<Node, NotAcquired> {
        loop {
            if cancel.is_cancelled() {
                return Err(self.leave(NotAcquired::Cancelled).await);
            }
            match self.action.clone() {
                Action::Hold(node) => {
                    tell(Progress::Entering);
                    match self.confirm(&node, cancel).await {
                        None => return Ok(node),
                        Some(event) => self.feed(event).await,
                    }
                }
                Action::Watch(_) if contention == Contention::Leave => {
                    return Err(self.leave(NotAcquired::Contended).await);
                }
                Action::Watch(ahead) => {
                    tell(Progress::Queued(ahead.count));
                    if cancel.is_cancelled() {
                        // A contender that is not wanted by then costs no watch.
                        continue;
                    }
                    let event = self.wait_behind(ahead, cancel, &tell).await;
                    self.feed(event).await;
                }
                Action::Finish(end) => return Err(self.ended(end)),
                _ => self.proceed(cancel).await,
            }
        }
    }

    fn ended(&mut self, end: End) -> NotAcquired {
        match (end, self.refusal.take()) {
            (End::Withdrawn | End::Abandoned, Some(refusal)) => NotAcquired::Refused(*refusal),
            (End::Withdrawn | End::Abandoned, None) => NotAcquired::Cancelled,
            (End::Unnumbered, _) => NotAcquired::Refused(LockError::Refused {
                path: self.place(),
                refusal: Refusal::OutOfNumbers,
            }),
            (End::Mixed(other), _) => NotAcquired::Refused(self.mixed_with(other)),
            (End::Lost, _) => NotAcquired::SessionLost,
        }
    }

    fn place(&self) -> String {
        self.path.relative().to_owned()
    }

    fn mixed_with(&self, other: Role) -> LockError {
        let own = self.machine.predicate().role().kind().to_string();
        LockError::MixedRecipes { path: self.place(), own, other: other.kind().to_string() }
    }

    /// Waits until the lease is valid, and until it is known on the current connection that it is
    /// the contender's turn. Returns the event that prevents this, if there is one.
    async fn confirm(&mut self, node: &Node, cancel: &CancellationToken) -> Option<Event> {
        loop {
            if cancel.is_cancelled() {
                return Some(Event::Cancel);
            }
            if self.session.is_over() {
                return Some(Event::SessionLost);
            }
            let (link, terms) = (self.session.link(), self.session.clock().terms());
            // A holder cannot rely on its lease before the connection is `Connected`.
            if link.health == Health::Suspended {
                let mut links = self.session.links();
                let ends = links.wait_for(|link| link.health != Health::Suspended);
                cancel.run_until_cancelled(ends).await;
                continue;
            }
            let proof = if link.connection != self.connection {
                self.verify(node, link.connection).await
            } else if self.session.clock().remaining() < terms.heartbeat {
                match self.session.requests().heartbeat(terms.heartbeat_kind).await {
                    // After a silence, only later answers prove more.
                    Ok(()) if self.session.clock().remaining() < terms.heartbeat => {
                        self.rest().await;
                        continue;
                    }
                    proof => proof.map(|()| None),
                }
            } else {
                return None;
            };
            match proof {
                Ok(None) => self.pause = SHORTEST_PAUSE,
                Ok(event) => return event,
                Err(RequestError::SessionOver) => return Some(self.failed(RequestError::SessionOver)),
                Err(_) => self.rest().await,
            }
        }
    }

    /// Looks whether the node is still there, because a turn stays with it.
    async fn verify(&mut self, node: &Node, connection: u64) -> Result<Option<Event>, RequestError> {
        let stat = self.session.requests().stat(&self.path.child(&node.name)).await?;
        self.connection = connection;
        let is_ours = stat.is_some_and(|stat| stat.ephemeral_owner == self.session.id());
        Ok((!is_ours).then_some(Event::OwnNodeGone))
    }

    /// Tells the state machine of an event, and learns the next action.
    async fn feed(&mut self, event: Event) {
        match event {
            Event::Unknown => self.rest().await,
            _ => self.pause = SHORTEST_PAUSE,
        }
        if let Some(action) = self.machine.on(event) {
            self.action = action;
            if let Action::Finish(end) = self.action {
                self.finish(end);
            }
        }
    }

    fn finish(&mut self, end: End) {
        self.leave_number();
        // An abandoned node stays until its session ends.
        if end != End::Abandoned {
            self.session.bounds().remove_node(std::mem::take(&mut self.counted));
            if self.machine.has_unknown_nodes() {
                self.session.remove_late(self.path.clone(), self.machine.id());
            }
        }
    }

    /// Pauses before a request is repeated, longer after each failure.
    async fn rest(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

/// The withdrawal of a contender after a release, a cancelled attempt or a dropped guard, and the downgrade of a writer.
///
/// The caller abandons its contender by an order or a dropped handle, which needs no runtime and cannot fail. The task
/// that owns the contender withdraws it here. It repeats each request whose outcome is unknown until the node is gone or
/// the session ends.
impl Driver {
    /// Replaces the writer's node with a reader's node. Returns the reader's node, or the refusal by the server, which leaves
    /// the writer's node as it was. Fails with the reason why the lock is lost.
    pub(crate) async fn downgrade(&mut self) -> Result<Result<Node, LockError>, LossReason> {
        self.feed(Event::Downgrade).await;
        loop {
            match self.action.clone() {
                Action::Hold(node) => {
                    let refusal = self.refusal();
                    // A list tells whether others wait for a reader.
                    self.has_others &= refusal.is_some();
                    return Ok(refusal.map_or(Ok(node), Err));
                }
                Action::Downgrade(_) => self.proceed(&CancellationToken::new()).await,
                Action::Finish(End::Lost) => return Err(LossReason::SessionEnded),
                // The holder is told now. The withdrawal that follows deletes both nodes.
                _ => return Err(LossReason::NodeDeleted),
            }
        }
    }

    /// Withdraws the contender. Returns once it is gone, its session has ended, or the server
    /// refuses to delete it.
    pub(crate) async fn withdraw(&mut self) -> End {
        self.feed(Event::Cancel).await;
        // No request is under way here, so the pending action can be skipped.
        self.feed(Event::Skipped).await;
        loop {
            match self.action.clone() {
                Action::Finish(end) => {
                    if let (End::Abandoned, Some(refusal)) = (end, &self.refusal) {
                        tracing::warn!(%refusal, "a contender stays until its session ends");
                    }
                    return end;
                }
                // A cancelled state machine neither waits nor holds.
                Action::Hold(_) | Action::Watch(_) => self.feed(Event::Cancel).await,
                _ => self.proceed(&CancellationToken::new()).await,
            }
        }
    }

    /// Withdraws the contender of an attempt that ends with `outcome`, and returns the attempt's
    /// final outcome.
    ///
    /// The final outcome is `SessionLost` if the session ends first, and a refusal replaces `Contended`.
    async fn leave(&mut self, outcome: NotAcquired) -> NotAcquired {
        let end = self.withdraw().await;
        match (outcome, self.refusal()) {
            _ if end == End::Lost => NotAcquired::SessionLost,
            (NotAcquired::Contended, Some(refusal)) => NotAcquired::Refused(refusal),
            (outcome, _) => outcome,
        }
    }

    /// Takes the error of a request that the server refused, if there was one.
    pub(crate) fn refusal(&mut self) -> Option<LockError> {
        self.refusal.take().map(|refusal| *refusal)
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
