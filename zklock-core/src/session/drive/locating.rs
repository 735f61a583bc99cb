//! The search for the nodes of a contender whose creation had an unknown outcome.

use crate::queue::acquisition::Event;
use crate::queue::contender::ContenderId;
use crate::session::fault::Fault;

use super::Driver;

impl Driver {
    pub(super) async fn locate(&mut self, id: ContenderId) -> Event {
        let session = self.session.clone();
        match session.ops().locate(self.path.full(), id).await {
            Ok(nodes) => Event::Located(nodes),
            Err(Fault::NoNode) => Event::ParentMissing,
            Err(fault) => self.failed(fault),
        }
    }

    /// Gives the session up, because the server has replaced it without telling so.
    pub(super) fn session_replaced(&self) -> Event {
        tracing::warn!(path = %self.path, "the server replaced the session by another one");
        self.session.give_up();
        Event::SessionLost
    }
}
