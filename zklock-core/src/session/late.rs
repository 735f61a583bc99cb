//! Deletes nodes that a server creates after their contender has left.
//!
//! A server that stood still may have two messages of the client when it goes on: a create on an old connection, and an attempt
//! to connect that the client has given up since. The attempt moves the session to this server, so that the leader
//! does not refuse the create as one of an earlier server (`SessionTrackerImpl.checkSession`), although a transaction on the
//! present connection has been committed before. The next transaction on the present connection is refused then, and the
//! connection breaks. One that is committed on the connection after that shows the node to the list behind it.

use std::sync::Arc;
use std::time::Duration;

use crate::path::NodePath;
use crate::queue::contender::ContenderId;
use crate::time::timeout;

use super::Session;
use super::clock::Instant;
use super::request_error::RequestError;

impl Session {
    /// Looks for nodes of a contender that has left, again and again for [`LATE`], and deletes them.
    pub(super) fn remove_late(self: &Arc<Self>, queue: NodePath, id: ContenderId) {
        let session = self.clone();
        self.spawn(async move { session.until_over(session.look_for_late(&queue, id)).await });
    }

    async fn look_for_late(&self, queue: &NodePath, id: ContenderId) {
        let (since, mut pause) = (Instant::now(), SHORTEST);
        let mut links = self.links();
        loop {
            let connection = links.borrow_and_update().connection;
            let next = links.wait_for(|link| link.connection != connection);
            let is_quiet = timeout(pause, next).await.is_err();
            let is_last = since.elapsed() >= LATE;
            match self.delete_all(queue, id).await {
                Err(RequestError::Unknown(_)) => {}
                _ if is_last => return,
                _ if is_quiet => pause *= 2,
                _ => {}
            }
        }
    }

    async fn delete_all(&self, queue: &NodePath, id: ContenderId) -> Result<(), RequestError> {
        let _permit = self.bounds().requests(2).await;
        for node in self.requests().locate(queue.full(), id).await? {
            tracing::warn!(path = %queue, node = node.name, "a server created a node late");
            self.requests().delete(&queue.child(&node.name)).await?;
        }
        Ok(())
    }
}

/// The time after which no server creates a node any more. A leader gives up a server that stands still for as long as the sync
/// limit, and that server closes its connections then.
const LATE: Duration = Duration::from_secs(120);
/// The pause before the first look, which later ones double. A new connection ends it.
const SHORTEST: Duration = Duration::from_secs(1);
