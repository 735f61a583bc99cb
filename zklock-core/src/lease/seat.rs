//! The contender behind a lease.

use std::sync::Arc;

use crate::error::LockError;
use crate::error::LossReason;
use crate::path::NodePath;
use crate::queue::acquisition::{End, Node};
use crate::session::Session;
use crate::session::drive::Driver;
use crate::session::janitor::Undone;
use crate::session::sentry::Sentry;

/// The contender behind a lease, as the keeper of the lease uses it.
pub(crate) trait Seat: Send + Sized {
    fn session(&self) -> &Arc<Session>;

    /// Returns the path of the queue.
    fn queue(&self) -> &NodePath;

    /// Returns the connection on which the place in the queue was last seen.
    fn connection(&self) -> u64;

    /// Returns the news that the watches of this contender bring.
    fn sentry(&self) -> &Arc<Sentry>;

    /// Begins to watch over the node that was seen at the head of its queue.
    fn begin_watch(&self);

    /// Resolves when the own node, at this path, is gone, or cannot be watched. Never resolves once the session is over.
    fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + Send + use<Self>;

    /// Replaces the writer's node with a reader's node, and returns the reader's node.
    fn downgrade(&mut self) -> impl Future<Output = Result<Node, Undone>> + Send;

    /// Withdraws the contender. Returns once it is gone, its session has ended, or the server refuses to delete it.
    fn withdraw(&mut self) -> impl Future<Output = End> + Send;

    /// Takes the error of a request that the server refused, if there was one.
    fn refusal(&mut self) -> Option<LockError>;
}

impl Seat for Driver {
    fn session(&self) -> &Arc<Session> {
        self.session()
    }

    fn queue(&self) -> &NodePath {
        self.path()
    }

    fn connection(&self) -> u64 {
        self.connection()
    }

    fn sentry(&self) -> &Arc<Sentry> {
        self.sentry()
    }

    fn begin_watch(&self) {
        self.begin_watch();
    }

    fn own_node_gone(&mut self, path: Arc<str>) -> impl Future<Output = LossReason> + Send + use<> {
        self.own_node_gone(path)
    }

    fn downgrade(&mut self) -> impl Future<Output = Result<Node, Undone>> + Send {
        self.downgrade()
    }

    fn withdraw(&mut self) -> impl Future<Output = End> + Send {
        self.withdraw()
    }

    fn refusal(&mut self) -> Option<LockError> {
        self.refusal()
    }
}
