//! The contender behind a lease, in a schedule.

use std::sync::Arc;

use crate::error::LockError;
use crate::error::LossReason;
use crate::lease::Contender;
use crate::path::NodePath;
use crate::queue::acquisition::{End, Node};
use crate::session::Session;
use crate::session::drive::Undone;
use crate::session::own_node::OwnNode;

use super::chance;
use super::servers::Servers;

/// The contender behind a lease, in a schedule.
pub(super) struct Staged {
    pub(super) servers: Arc<Servers>,
    pub(super) session: Arc<Session>,
    pub(super) queue: NodePath,
    pub(super) number: i64,
    /// The number of other contenders when it entered the queue.
    pub(super) others: usize,
    pub(super) own_node: Arc<OwnNode>,
}

impl Contender for Staged {
    fn session(&self) -> &Arc<Session> {
        &self.session
    }

    fn queue(&self) -> &NodePath {
        &self.queue
    }

    fn own_node(&self) -> &Arc<OwnNode> {
        &self.own_node
    }

    fn begin_watch(&self) {
        let come_since = usize::from(self.own_node.news().company.is_some());
        self.own_node.stage(self.others + come_since);
        self.own_node.note_seen(self.session.link().connection);
    }

    fn own_node_gone(&mut self, _: Arc<str>) -> impl Future<Output = LossReason> + Send + use<> {
        let (servers, number, own_node) = (self.servers.clone(), self.number, self.own_node.clone());
        async move {
            chance::pause().await;
            own_node.watch();
            servers.until(|servers| (!servers.has(number)).then_some(())).await;
            chance::pause().await;
            LossReason::NodeDeleted
        }
    }

    async fn downgrade(&mut self) -> Result<Node, Undone> {
        chance::pause().await;
        if self.session.is_over() {
            return Err(Undone::SessionOver);
        }
        let is_there = self.servers.downgrade(self.number);
        chance::pause().await;
        let name = format!("read-{:010}", self.number);
        let node = Node { name, zxid: self.number, owner: self.session.id() };
        if is_there { Ok(node) } else { Err(Undone::Gone) }
    }

    async fn withdraw(&mut self) -> End {
        chance::pause().await;
        self.servers.delete_node(self.number);
        chance::pause().await;
        if self.session.is_over() { End::Lost } else { End::Withdrawn }
    }

    fn refusal(&mut self) -> Option<LockError> {
        None
    }
}
