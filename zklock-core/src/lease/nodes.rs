//! The names and the paths of the nodes of leases.

use std::sync::Arc;

use crate::queue::contender::Name;

use super::tenure::Tenure;

/// The end of a node, as this client brings it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeEnd {
    /// The release has begun.
    Departing,
    /// Another node has replaced it.
    Replaced,
}

impl Tenure {
    /// Waits until no replacement of the lock's node is under way, and returns the node's path on the server.
    ///
    /// A request that the caller sends before it yields again reaches the server before a later replacement.
    pub(crate) async fn node(&self) -> Arc<str> {
        self.node_path(&self.changed.until(|| self.present_node()).await).into()
    }

    /// Returns the paths of the nodes of several leases, at a moment when none of them is being replaced.
    pub(crate) async fn nodes(tenures: &[Arc<Self>]) -> Vec<Arc<str>> {
        loop {
            for tenure in tenures {
                tenure.node().await;
            }
            let nodes = tenures.iter().map(|tenure| Some(tenure.node_path(&tenure.present_node()?).into()));
            if let Some(nodes) = nodes.collect() {
                return nodes;
            }
        }
    }

    /// Returns the path on the server of a node with this name.
    pub(super) fn node_path(&self, node: &Name) -> String {
        [self.queue().full(), "/", &node.text()].concat()
    }

    /// Returns the name of the lock's node, unless it is being replaced.
    pub(super) fn present_node(&self) -> Option<Name> {
        self.node.present()
    }

    pub(super) fn has_node(&self, node: &Name) -> bool {
        self.present_node().is_some_and(|present| present == *node)
    }

    /// Waits until the release has begun, or another node has replaced the one with this name.
    pub(super) async fn until_left(&self, node: &Name) -> NodeEnd {
        let is_replaced = || self.present_node().is_some_and(|present| present != *node);
        let end = || match self.is_departing() {
            true => Some(NodeEnd::Departing),
            false => is_replaced().then_some(NodeEnd::Replaced),
        };
        self.changed.until(end).await
    }

    /// Takes note that the lock's node is being replaced.
    pub(super) fn begin_replacement(&self) {
        self.node.begin_replacement();
        self.changed.notify();
    }

    /// Takes note that the lock's node has this name, and is not being replaced any more.
    pub(super) fn set_node(&self, name: Name) {
        self.node.set(name);
        self.changed.notify();
    }
}
