//! The contender behind a lease, which rests while there is nothing to do.

use std::pin::Pin;
use std::sync::Arc;

use crate::error::LossReason;
use crate::session::drive::Resting;

/// The contender behind a lease, whose state is a `T`.
pub(super) trait Contender<T>: Send {
    /// Resolves when the node is gone, or belongs to another session.
    fn own_node_gone(&mut self, node: Arc<str>) -> Gone;

    /// Takes note of a watch that has fired before its first [`own_node_gone`](Self::own_node_gone).
    fn glance(&mut self);

    /// Returns the small form of the contender, or `None` if that would leave something out.
    fn resting(&mut self) -> Option<Resting>;

    /// Starts a task that performs the orders of the holders.
    fn work(self: Box<Self>, state: Arc<T>);
}

/// Resolves when a node is gone, or belongs to another session.
pub(super) type Gone = Pin<Box<dyn Future<Output = LossReason> + Send>>;

/// A contender that rests, in the form that takes the least memory.
pub(super) enum AtRest<T> {
    Small(Resting),
    Large(Box<dyn Contender<T>>),
}
