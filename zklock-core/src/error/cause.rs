//! What was being waited for, and why a server refuses.

use std::fmt;

/// What an operation was waiting for when its deadline passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// No session was open: the servers could not be reached, or the connection was broken.
    Connecting,
    /// The contender's place in the queue was not confirmed by a server yet.
    Entering,
    /// Others held the lock or were in front.
    Queued,
    /// A sibling call under the same hold was running.
    Sibling,
    /// The lock was being released; the release goes on in the background.
    Releasing,
    /// A guarded request was not answered.
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
            Self::Requesting => "waiting for the server about",
        })
    }
}

/// A definite refusal by the server: the request was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The node does not exist.
    NoNode,
    /// The node exists already.
    NodeExists,
    /// The node has children.
    NotEmpty,
    /// The node was changed by somebody else meanwhile.
    BadVersion,
    /// The node has created 2³¹ children, and has no numbers left to tell their order by.
    ///
    /// It has again after it was deleted, as the server does with a container that is empty.
    OutOfNumbers,
    /// Any other reason, in the server's or the client library's words.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode => f.write_str("the node does not exist"),
            Self::NodeExists => f.write_str("the node exists already"),
            Self::NotEmpty => f.write_str("the node has children"),
            Self::BadVersion => f.write_str("the node was changed by somebody else meanwhile"),
            Self::OutOfNumbers => f.write_str(
                "the node's sequence numbers are used up until it is deleted, as an empty container is",
            ),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}
