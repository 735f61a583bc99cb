//! The causes of errors: phases, refusals, losses and permissions.

use std::fmt;

/// The phase of an operation at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// No session was open: the servers could not be reached, or the connection was broken.
    Connecting,
    /// No server had confirmed the contender's place in the queue yet.
    Entering,
    /// Others held the lock, or were in front in the queue, at some time since the session was opened.
    Queued,
    /// A sibling call under the same hold was running.
    Sibling,
    /// The lock was being released; the release goes on in the background.
    Releasing,
    /// A request was not answered.
    Requesting,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "waiting for a session to lock",
            Self::Entering => "entering the queue of lock",
            Self::Queued => "waiting behind others for lock",
            Self::Sibling => "waiting for a sibling call that holds lock",
            Self::Releasing => "releasing lock",
            Self::Requesting => "waiting for the servers' answer about",
        })
    }
}

/// A definite refusal by the server: the request was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The node does not exist.
    NoNode,
    /// The node already exists.
    NodeExists,
    /// The node has children.
    NotEmpty,
    /// Somebody else changed the node in the meantime.
    BadVersion,
    /// The node has had 2³¹ children, and has no sequence numbers left to order further ones.
    ///
    /// After it has been deleted and created again, it has numbers again. The server deletes an empty
    /// container on its own.
    OutOfNumbers,
    /// Any other reason, in the words of the server, the client library or zklock.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode => f.write_str("the node does not exist"),
            Self::NodeExists => f.write_str("the node already exists"),
            Self::NotEmpty => f.write_str("the node has children"),
            Self::BadVersion => f.write_str("somebody else changed the node in the meantime"),
            Self::OutOfNumbers => f.write_str(
                "the node's sequence numbers are used up until it is deleted; the server deletes an \
                 empty container",
            ),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// The reason for the loss of a lock or of leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Somebody else deleted the lock's node.
    NodeDeleted,
    /// The lock's node now belongs to another session.
    OwnerChanged,
    /// The session expired or was closed, or belongs to the process from which this one was forked.
    SessionEnded,
    /// The servers did not answer for so long that they may have handed the lock on.
    LeaseExpired,
    /// The connection broke, and the leader's [`Policy`](crate::Policy) is to give up leadership at once.
    Suspended,
    /// The leader resigned, its candidate was closed, or its callback returned; or the holder gave the lock back.
    Resigned,
}

impl LossReason {
    /// Returns the name for the values of labels and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NodeDeleted => "node_deleted",
            Self::OwnerChanged => "owner_changed",
            Self::SessionEnded => "session_ended",
            Self::LeaseExpired => "lease_expired",
            Self::Suspended => "suspended",
            Self::Resigned => "resigned",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeDeleted => "its node was deleted by somebody else",
            Self::OwnerChanged => "its node belongs to another session",
            Self::SessionEnded => "the session ended",
            Self::LeaseExpired => "the servers did not answer in time",
            Self::Suspended => "the connection broke",
            Self::Resigned => "it was given up",
        })
    }
}

/// A permission that a client lacks, in the terms of ZooKeeper's access control lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// `r`: to read the data of a node, and to list its children.
    Read,
    /// `w`: to write the data of a node.
    Write,
    /// `c`: to create children of a node.
    Create,
    /// `d`: to delete children of a node.
    Delete,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read nodes",
            Self::Write => "write nodes",
            Self::Create => "create nodes",
            Self::Delete => "delete nodes",
        })
    }
}
