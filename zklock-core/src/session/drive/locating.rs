//! The search for the nodes of a contender whose creation had an unknown outcome.

use crate::queue::acquisition::{Event, Node};
use crate::queue::contender::ContenderId;
use crate::session::fault::Fault;

use super::Driver;

impl Driver {
    pub(super) async fn locate(&mut self, id: ContenderId) -> Event {
        let session = self.session.clone();
        let located = match session.ops().locate(self.path.full(), id).await {
            Ok(nodes) => self.is_of_replacement(&nodes).await.map(|is_of_it| (nodes, is_of_it)),
            Err(fault) => Err(fault),
        };
        match located {
            Ok((_, true)) => self.session_replaced(),
            Ok((nodes, false)) => Event::Located(nodes),
            Err(Fault::NoNode) => Event::ParentMissing,
            Err(fault) => self.failed(fault),
        }
    }

    /// Returns whether one of these nodes belongs to the session of the connection, and that is another one than this
    /// session. A node of any other session may have been planted by others.
    async fn is_of_replacement(&self, nodes: &[Node]) -> Result<bool, Fault> {
        for node in nodes.iter().filter(|node| node.owner != self.session.id()) {
            let path = self.path.child(&node.name);
            let present = self.session.ops().ephemerals(&path).await?;
            if present.is_some_and(|present| present.contains(&path)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives the session up, because the server has replaced it without telling so.
    pub(super) fn session_replaced(&self) -> Event {
        tracing::warn!(path = %self.path, "the server silently replaced the session");
        self.session.give_up();
        Event::SessionLost
    }
}
