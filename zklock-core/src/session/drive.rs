//! Performs the actions of an acquisition and tells it what came of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::{LockError, Phase, Refusal};
use crate::path::NodePath;
use crate::queue::acquisition::{Acquisition, Action, End, Event, Node};
use crate::queue::contender::{Contender, ContenderId};

use super::fault::Fault;
use super::notice::{Subject, Watch};
use super::ops::Children;
use super::presence;
use super::{Ownership, Session};

/// One acquisition within one session.
pub(crate) struct Driver {
    pub(super) session: Arc<Session>,
    path: NodePath,
    data: Arc<[u8]>,
    machine: Acquisition,
    pub(super) action: Action,
    /// Why the server refused what was asked of it, if it did.
    pub(super) refusal: Option<LockError>,
    /// Tells of the next change among the children since they were listed last.
    pub(super) children: Option<Watch>,
    /// The connection's epoch in which the children were listed last.
    epoch: u64,
    pause: Duration,
}

/// What to do where others are in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contention {
    Wait,
    Leave,
}

/// What came of an acquisition.
pub(crate) enum Outcome {
    /// The node is head, its owner is this session, and the lease is valid.
    Held(Node),
    /// Others are in front; the contender was withdrawn.
    Contended,
    /// The caller cancelled, and the contender was withdrawn.
    Cancelled,
    /// The server refuses what is needed.
    Refused(LockError),
    /// The session ended, and the contender with it.
    SessionLost,
}

impl Driver {
    pub(crate) fn new(session: Arc<Session>, path: NodePath, data: Arc<[u8]>) -> Self {
        let (machine, action) = Acquisition::start(ContenderId::new(Uuid::new_v4()), session.id());
        let epoch = session.link().epoch;
        let pause = SHORTEST_PAUSE;
        Self { session, path, data, machine, action, refusal: None, children: None, epoch, pause }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The epoch in which the place in the queue was seen last.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Drives until the lock is held, or the contender is gone.
    ///
    /// `phase` is told what is being waited for. Requests under way are never abandoned: `cancel` is
    /// heeded between them.
    pub(crate) async fn acquire(
        &mut self,
        contention: Contention,
        cancel: &CancellationToken,
        phase: impl Fn(Phase),
    ) -> Outcome {
        loop {
            if cancel.is_cancelled() {
                return self.leave(Outcome::Cancelled).await;
            }
            match self.action.clone() {
                Action::Hold(node) => {
                    phase(Phase::Entering);
                    match self.confirm(&node, cancel).await {
                        None => return Outcome::Held(node),
                        Some(event) => self.feed(event).await,
                    }
                }
                Action::Watch(_) if contention == Contention::Leave => {
                    return self.leave(Outcome::Contended).await;
                }
                Action::Watch(predecessor) => {
                    phase(Phase::Queued);
                    let event = self.wait_behind(&predecessor, cancel).await;
                    self.feed(event).await;
                }
                Action::Finish(end) => return self.ended(end),
                request => self.request(request).await,
            }
        }
    }

    fn ended(&mut self, end: End) -> Outcome {
        match (end, self.refusal.take()) {
            (End::Withdrawn | End::Abandoned, Some(refusal)) => Outcome::Refused(refusal),
            (End::Withdrawn | End::Abandoned, None) => Outcome::Cancelled,
            (End::Unnumbered, _) => {
                let (path, refusal) = (self.path.relative().to_owned(), Refusal::OutOfNumbers);
                Outcome::Refused(LockError::Refused { path, refusal })
            }
            (End::Lost, _) => Outcome::SessionLost,
        }
    }

    /// Makes sure that the lease is valid and the connection is the one that showed us at the head.
    async fn confirm(&mut self, node: &Node, cancel: &CancellationToken) -> Option<Event> {
        loop {
            if cancel.is_cancelled() {
                return Some(Event::Cancel);
            }
            if self.session.is_over() {
                return Some(Event::SessionLost);
            }
            let (link, terms) = (self.session.link(), self.session.clock().terms());
            let proof = if link.epoch != self.epoch {
                self.verify(node, link.epoch).await
            } else if self.session.clock().remaining() < terms.heartbeat() {
                self.session.ops().heartbeat(terms.heartbeat_kind()).await.map(|()| None)
            } else {
                return None;
            };
            match proof {
                Ok(None) => self.pause = SHORTEST_PAUSE,
                Ok(event) => return event,
                Err(Fault::SessionOver) => return Some(self.failed(Fault::SessionOver)),
                Err(_) => self.rest().await,
            }
        }
    }

    async fn verify(&mut self, node: &Node, epoch: u64) -> Result<Option<Event>, Fault> {
        let owner = self.session.ops().owner(&self.path.child(&node.name)).await?;
        self.epoch = epoch;
        Ok(match Ownership::of(owner, self.session.id()) {
            Ownership::Ours => None,
            Ownership::Gone => Some(Event::OwnNodeGone),
            Ownership::Foreign => {
                self.session.give_up();
                Some(Event::SessionLost)
            }
        })
    }

    async fn wait_behind(&mut self, predecessor: &str, cancel: &CancellationToken) -> Event {
        let watch = match self.session.ops().watch(Subject::Predecessor, &self.path.child(predecessor)).await
        {
            Ok(watch) => watch,
            Err(Fault::NoNode) => return Event::PredecessorGone,
            Err(fault) => return self.failed(fault),
        };
        let own = self.machine.node().map(|node| self.path.child(&node.name));
        let expelled = async {
            // Most waits are short; the long ones pay a request to notice that an outsider ended them.
            sleep(PATIENCE).await;
            match &own {
                Some(own) => presence::gone(&self.session, own).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancel,
            () = self.session.over() => Event::SessionLost,
            () = watch.changed() => Event::PredecessorGone,
            () = expelled => Event::OwnNodeGone,
        }
    }

    pub(super) async fn request(&mut self, action: Action) {
        let event = self.perform(action).await;
        self.feed(event).await;
    }

    async fn perform(&mut self, action: Action) -> Event {
        let (session, dir) = (self.session.clone(), self.path.clone());
        let ops = session.ops();
        match action {
            Action::Enter(id) => self.enter(id).await,
            Action::Prepare => match ops.prepare(dir.full()).await {
                // An ancestor that vanished meanwhile is created again.
                Ok(()) | Err(Fault::NoNode) => Event::Prepared,
                Err(fault) => self.failed(fault),
            },
            Action::Locate(id) => match ops.locate(dir.full(), id).await {
                Ok(nodes) => Event::Located(nodes),
                Err(Fault::NoNode) => Event::ParentMissing,
                Err(fault) => self.failed(fault),
            },
            Action::List => {
                self.epoch = session.link().epoch;
                match ops.list(dir.full()).await {
                    Ok(children) => Event::Listed(self.listed(children)),
                    Err(Fault::NoNode) => Event::ParentMissing,
                    Err(fault) => self.failed(fault),
                }
            }
            Action::Delete(names) => self.delete(names).await,
            Action::Watch(_) | Action::Hold(_) | Action::Finish(_) => Event::Unknown,
        }
    }

    async fn enter(&mut self, id: ContenderId) -> Event {
        self.epoch = self.session.link().epoch;
        let entry = self.session.ops().enter(self.path.full(), id, &self.data).await;
        match entry.node {
            Ok(node) if node.owner != self.session.id() => {
                tracing::warn!(path = %self.path, "the server replaced the session without a word");
                self.session.give_up();
                Event::SessionLost
            }
            Ok(node) => {
                let children = entry.children.ok().map(|children| self.listed(children));
                Event::Entered(node, children)
            }
            Err(Fault::NoNode) => Event::ParentMissing,
            Err(fault) => self.failed(fault),
        }
    }

    async fn delete(&mut self, names: Vec<String>) -> Event {
        for name in names {
            if let Err(fault) = self.session.ops().delete(&self.path.child(&name)).await {
                return self.failed(fault);
            }
        }
        Event::Deleted
    }

    fn listed(&mut self, children: Children) -> Vec<String> {
        self.children = Some(children.watch);
        if let Some(stranger) = children.names.iter().find(|name| Contender::parse(name).is_none()) {
            self.session.note_stranger(self.path.full(), stranger);
        }
        children.names
    }

    fn failed(&mut self, fault: Fault) -> Event {
        match fault {
            Fault::Unknown(reason) => {
                tracing::debug!(path = %self.path, reason, "request unanswered");
                Event::Unknown
            }
            Fault::SessionOver => {
                self.session.give_up();
                Event::SessionLost
            }
            refused => {
                self.refusal.get_or_insert_with(|| refused.into_error(self.path.relative()));
                Event::Refused
            }
        }
    }

    pub(super) async fn feed(&mut self, event: Event) {
        match event {
            Event::Unknown => self.rest().await,
            _ => self.pause = SHORTEST_PAUSE,
        }
        if let Some(action) = self.machine.on(event) {
            self.action = action;
        }
    }

    /// Pauses before a request is repeated, longer each time.
    async fn rest(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a contender waits before it watches its own node too.
const PATIENCE: Duration = Duration::from_secs(1);
