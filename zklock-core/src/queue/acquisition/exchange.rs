//! What an acquisition and its driver tell each other.

use crate::queue::contender::ContenderId;

/// A node of ours, as the server told us of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The zxid of its creation.
    pub(crate) zxid: i64,
    /// The session that owns it.
    pub(crate) owner: i64,
}

/// What the driver reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The node was created; the list that was sent with it was answered, or was not.
    Entered(Node, Option<Vec<String>>),
    /// The parents are missing, so nothing was created or there is nothing to list.
    ParentMissing,
    /// The parents exist.
    Prepared,
    /// All nodes of this acquisition that exist.
    Located(Vec<Node>),
    Listed(Vec<String>),
    /// The predecessor changed or vanished.
    PredecessorGone,
    /// An outsider deleted the own node while it was waiting or held.
    OwnNodeGone,
    /// The nodes do not exist any more.
    Deleted,
    /// The action's outcome is unknown: the connection broke.
    Unknown,
    /// The server refused the action for good.
    Refused,
    /// The action was not begun.
    Skipped,
    /// The caller does not want the lock, or does not want it any more.
    Cancel,
    SessionLost,
}

/// What the driver does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Create the node and list the children in one round trip.
    Enter(ContenderId),
    /// Create the parents.
    Prepare,
    /// Find the nodes of this acquisition: sync, list, and a stat of each.
    Locate(ContenderId),
    List,
    /// Wait until this predecessor is gone.
    Watch(String),
    /// Hold the lock with this node, until the next event.
    Hold(Node),
    Delete(Vec<String>),
    Finish(End),
}

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// No node of it is left.
    Withdrawn,
    /// No node of it is left, because the parent has no numbers left to tell its place by.
    Unnumbered,
    /// The server denies what is needed to withdraw; its node ends with the session.
    Abandoned,
    /// Its session ended, and its node with it.
    Lost,
}
