//! What an acquisition and its driver tell each other.

use crate::queue::claim::Role;
use crate::queue::contender::ContenderId;
use crate::queue::turn::Ahead;

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
    /// Who was to leave first changed or vanished.
    PredecessorGone,
    /// There are so many permits now.
    Permits(u32),
    /// Let others share what is held.
    Downgrade,
    /// The node of the exclusive holder became that of a reader, under this name.
    Downgraded(String),
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
    /// Wait until who is to leave first is gone.
    Watch(Ahead),
    /// Hold the lock with this node, until the next event.
    Hold(Node),
    /// Put a reader's node in the place of the exclusive one, in one transaction.
    Downgrade(Replacement),
    Delete(Vec<String>),
    Finish(End),
}

/// A node, and the name of the one that takes its place.
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
    /// No node of it is left, because the parent has no numbers left to tell its place by.
    Unnumbered,
    /// No node of it is left, because those in front are of another recipe.
    Mixed(Role),
    /// The server denies what is needed to withdraw; its node ends with the session.
    Abandoned,
    /// Its session ended, and its node with it.
    Lost,
}
