//! The search for the nodes of a contender whose creation had an unknown outcome.

use crate::path::NodePath;
use crate::queue::acquisition::{Event, Node};
use crate::queue::contender::ContenderId;
use crate::session::Session;
use crate::session::fault::Fault;

use super::Driver;

impl Driver {
    pub(super) async fn locate(&mut self, id: ContenderId) -> Event {
        let (session, queue) = (self.session.clone(), self.path.clone());
        let nodes = match session.ops().locate(queue.full(), id).await {
            Ok(nodes) => nodes,
            Err(Fault::NoNode) => return Event::ParentMissing,
            Err(fault) => return self.failed(fault),
        };
        match has_replacement(&session, &queue, &nodes).await {
            Ok(true) => self.session_replaced(),
            Ok(false) => Event::Located(nodes),
            Err(fault) => self.failed(fault),
        }
    }

    /// Gives the session up, because the server has replaced it without telling so.
    pub(super) fn session_replaced(&self) -> Event {
        tracing::warn!(path = %self.path, "the server silently replaced the session");
        self.session.give_up();
        Event::SessionLost
    }
}

/// Returns whether one of these nodes belongs to the session of the connection, and that is another one than the session
/// that the client knows. A node of any other session may have been planted by others.
async fn has_replacement(session: &Session, queue: &NodePath, nodes: &[Node]) -> Result<bool, Fault> {
    for node in nodes.iter().filter(|node| node.owner != session.id()) {
        let path = queue.child(&node.name);
        let present = session.ephemerals(&path).await?;
        if present.is_some_and(|present| present.contains(&path)) {
            return Ok(true);
        }
    }
    Ok(false)
}
