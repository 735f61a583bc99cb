//! The events and actions that an acquisition and its driver exchange.

use crate::queue::contender::{ContenderId, Sequence};
use crate::queue::predicate::Role;
use crate::queue::turn::Ahead;

/// A node of this acquisition, as reported by the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The zxid of its creation.
    pub(crate) zxid: i64,
    /// The session that owns it.
    pub(crate) owner: i64,
}

/// The knowledge about the queue at the time when a contender's node was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The children, from the list sent with the create.
    Listed(Vec<String>),
    /// The last contender of this client had this number, was first, and is certainly deleted. The parent is
    /// the same as then.
    After(Sequence),
    /// The queue's node was created by the same transaction, so that no other contender was in it.
    Alone,
    /// Nothing is known, so that the children have to be listed.
    Nothing,
}

/// An event that the driver reports to the acquisition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The node was created.
    Entered(Node, Sight),
    /// The parents are missing, so that nothing was created or listed.
    ParentMissing,
    /// The queue's node exists, so that it could not be created together with the contender. Nothing was created.
    QueueExists,
    /// The parents exist.
    Prepared,
    /// All nodes of this acquisition that exist.
    Located(Vec<Node>),
    /// The children of the queue's node.
    Listed(Vec<String>),
    /// The obstacle in front changed or vanished.
    PredecessorGone,
    /// The only contender in front is gone, and the own node was seen on the same connection.
    Inherited,
    /// The semaphore's number of permits is now this one.
    Permits(u32),
    /// The holder lets readers share the lock.
    Downgrade,
    /// The writer's node was replaced with a reader's node of this name.
    Downgraded(String),
    /// An outsider deleted the holder's node.
    OwnNodeGone,
    /// The nodes no longer exist.
    Deleted,
    /// The action's outcome is unknown: the connection broke.
    Unknown,
    /// The server definitely refused the action.
    Refused,
    /// The action was not started.
    Skipped,
    /// The caller gives up the attempt, or releases the lock.
    Cancel,
    SessionLost,
}

/// An action that the driver performs next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Create the node: together with the queue's node, or with a list of the children in the same round trip unless the
    /// node's number may do.
    Enter(ContenderId),
    /// Create the parents.
    Prepare,
    /// Find the nodes of this acquisition: sync, list, and a stat of each.
    Locate(ContenderId),
    List,
    /// Wait until the obstacle in front is gone.
    Watch(Ahead),
    /// Hold the lock with this node, until the next event.
    Hold(Node),
    /// Replace the writer's node with a reader's in one transaction.
    Downgrade(Replacement),
    Delete(Vec<String>),
    Finish(End),
}

/// A node, and the name of the node that replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Replacement {
    pub(crate) old: Node,
    pub(crate) new: String,
}

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// No node of it is left.
    Withdrawn,
    /// No node of it is left, because the parent's sequence numbers are used up.
    Unnumbered,
    /// No node of it is left, because the queue is in use by another recipe.
    Mixed(Role),
    /// The server refuses the requests that withdraw the contender. Its node ends with the session.
    Abandoned,
    /// The session ended, and the contender's node with it.
    Lost,
}
