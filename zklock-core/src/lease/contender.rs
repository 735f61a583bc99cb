//! The contender behind a lease, which rests while there is nothing to do.

use std::pin::Pin;
use std::sync::Arc;

use crate::session::charge::Absence;

/// The contender behind a lease, whose state is a `T`.
pub(super) trait Contender<T>: Send {
    /// Resolves when the node is gone, or cannot be watched.
    fn own_node_gone(&mut self, state: &T, node: Arc<str>) -> Pin<Box<dyn Future<Output = Absence> + Send>>;

    /// Takes note of a watch that has fired before its first [`own_node_gone`](Self::own_node_gone).
    fn glance(&mut self);

    /// Decides to withdraw. Returns the contender, and the paths of the nodes to be deleted.
    fn depart(self: Box<Self>, state: &T) -> (Box<dyn Contender<T>>, Vec<String>);

    /// Takes note that these nodes are deleted.
    fn note_deleted(&mut self);

    /// Starts a task that performs the orders of the holders.
    fn work(self: Box<Self>, state: Arc<T>);
}
