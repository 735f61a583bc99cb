//! A held lock, as its session watches over it.

use std::pin::Pin;
use std::sync::Arc;

use crate::error::LossReason;
use crate::queue::contender::Name;

use super::state::Link;

/// A held lock, as its session watches over it.
pub(crate) trait Charge: Send + Sync {
    /// Returns the name of the node; `None` while it is being replaced, and once the release has begun.
    fn node(&self) -> Option<Name>;

    /// Returns the path on the server of a node with this name.
    fn path(&self, node: &Name) -> String;

    /// Returns the last connection on which the node was seen to belong to the session.
    fn connection(&self) -> u64;

    /// Begins to watch the node. Returns `None` if the node is being replaced, and once the release has begun.
    fn watch(self: Arc<Self>) -> Option<Vigil>;

    /// Takes note of the health of the connection.
    fn note_health(&self, link: Link);

    fn lose(&self, reason: LossReason);
}

/// The watch on one node. It ends with the name of the node and the reason of its loss, or with `None` after the release.
pub(crate) type Vigil = Pin<Box<dyn Future<Output = Option<(Name, LossReason)>> + Send>>;
