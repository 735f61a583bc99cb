//! The causes of errors: phases, holders, refusals, losses and permissions.

use std::fmt;
use std::time::{Duration, SystemTime};

/// The phase of an operation at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// No session was open: the servers could not be reached, or the last session had ended.
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The node does not exist.
    #[error("the node does not exist")]
    NoNode,
    /// The node already exists.
    #[error("the node already exists")]
    NodeExists,
    /// The node has children.
    #[error("the node has children")]
    NotEmpty,
    /// Another client changed the node in the meantime.
    #[error("somebody else changed the node in the meantime")]
    BadVersion,
    /// The node has had 2³¹ children, and has no sequence numbers left to order further ones.
    ///
    /// After it has been deleted and created again, it has numbers again. The server deletes an empty
    /// container on its own.
    #[error(
        "the node's sequence numbers are used up until it is deleted; the server deletes an empty container"
    )]
    OutOfNumbers,
    /// The paths of the nodes of this client's session, held and waiting, would have more than 900 KiB together. No
    /// request was sent.
    ///
    /// The servers delete them in one transaction when the session ends, and fail for good if it is too long
    /// (ZOOKEEPER-4306). The lock can be acquired again when others have been released, or by another client.
    #[error(
        "the paths of the session's nodes would have more than 900 KiB together, and its end could stop the servers \
         (ZOOKEEPER-4306); release other locks, or use a further client"
    )]
    SessionFull,
    /// Any other reason, in the words of the server, the client library or zklock.
    #[error("{0}")]
    Other(String),
}

/// The reason for the loss of a lock or of leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LossReason {
    /// Another client deleted the lock's node; or the servers have it, but leave it out of the list of the lock's
    /// contenders (ZOOKEEPER-4846), so that another one may hold the lock as well.
    #[error("its node was deleted by somebody else")]
    NodeDeleted,
    /// The lock's node now belongs to another session.
    #[error("its node belongs to another session")]
    OwnerChanged,
    /// The session expired or was closed, or belongs to the process from which this one was forked.
    #[error("the session ended")]
    SessionEnded,
    /// The servers did not answer for so long that they may have handed the lock on.
    #[error("the servers did not answer in time")]
    LeaseExpired,
    /// The connection broke, and the leader's [`Policy`](crate::Policy) is to give up leadership at once.
    #[error("the connection broke")]
    Suspended,
    /// The leader resigned, its candidate was closed, or its callback returned; or the holder gave the lock back.
    #[error("it was given up")]
    Resigned,
}

impl LossReason {
    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 6] = [
        Self::NodeDeleted,
        Self::OwnerChanged,
        Self::SessionEnded,
        Self::LeaseExpired,
        Self::Suspended,
        Self::Resigned,
    ];

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

/// The contender that was nearest in front of a call when its deadline passed.
///
/// It is what the client knew without a request of its own. If only one contender was in front, it holds the lock.
/// The number of contenders in front is that of the last list of the queue; some of them may have left since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// Another call of the same client.
    #[non_exhaustive]
    ThisClient {
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
    /// A contender of another client.
    #[non_exhaustive]
    Other {
        /// The beginning of its node's data. A client of zklock writes its
        /// [`Config::identity`](crate::Config::identity) there. A request to release replaces it by `__REVOKE__`.
        identity: String,
        /// The id of the session that owns its node.
        session_id: i64,
        /// The time at which it entered the queue, by the clock of the server.
        entered: SystemTime,
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
    /// A persistent node with the name of a contender. No session owns it, and it stays until it is deleted.
    #[non_exhaustive]
    Persistent {
        /// Its path below the client's namespace.
        path: String,
        /// The time at which it was created, by the clock of the server.
        created: SystemTime,
        /// The number of contenders in front in the queue on the servers, this one included.
        ahead: u32,
    },
}

impl Holder {
    /// Returns a call of this client that holds the lock, or is nearest of this many in front.
    pub(crate) fn this_client(ahead: usize) -> Self {
        Self::ThisClient { ahead: count(ahead) }
    }

    /// Returns the contender of another client that has this data, session and time, or is nearest of this many.
    pub(crate) fn other(data: &[u8], session_id: i64, entered_ms: i64, ahead: usize) -> Self {
        let text = String::from_utf8_lossy(&data[..data.len().min(4 * SHOWN)]);
        let identity = text.chars().take(SHOWN).collect();
        Self::Other { identity, session_id, entered: time(entered_ms), ahead: count(ahead) }
    }

    /// Returns the persistent node at this path, or is nearest of this many.
    pub(crate) fn persistent(path: String, created_ms: i64, ahead: usize) -> Self {
        Self::Persistent { path, created: time(created_ms), ahead: count(ahead) }
    }

    /// Returns the number of contenders that were in front in the queue on the servers, this one included.
    pub fn ahead(&self) -> u32 {
        match self {
            Self::ThisClient { ahead } | Self::Other { ahead, .. } | Self::Persistent { ahead, .. } => *ahead,
        }
    }

    /// Returns whether it is a call of the client whose call timed out.
    pub fn is_this_client(&self) -> bool {
        matches!(self, Self::ThisClient { .. })
    }
}

/// A task that the holder has spawned, or a call beside its guard, is not known to be the holder's.
const OF_THIS_PROCESS: &str = "another call of this process, or this one outside of its guard's `scope`";

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ahead() {
            0 | 1 => f.write_str("held by ")?,
            ahead => write!(f, "the nearest of {ahead} in front is ")?,
        }
        match self {
            Self::ThisClient { .. } => f.write_str(OF_THIS_PROCESS),
            Self::Other { identity, session_id, entered, .. } => {
                let since = shown(*entered);
                match identity.as_str() {
                    "" => write!(f, "session {session_id:#x}")?,
                    identity => write!(f, "{identity:?} (session {session_id:#x})")?,
                }
                write!(f, ", in the queue since {since}")
            }
            Self::Persistent { path, created, .. } => write!(
                f,
                "the persistent node {path}, created at {}, which no session owns and which stays until somebody \
                 deletes it",
                shown(*created)
            ),
        }
    }
}

fn time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap_or_default())
}

fn count(ahead: usize) -> u32 {
    u32::try_from(ahead).unwrap_or(u32::MAX)
}

/// Returns the text of a time in the form of RFC 3339, which has years of four digits.
fn shown(time: SystemTime) -> humantime::Rfc3339Timestamp {
    let last = SystemTime::UNIX_EPOCH + LAST;
    humantime::format_rfc3339_seconds(time.clamp(SystemTime::UNIX_EPOCH, last))
}

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);
/// The number of characters of an identity that are kept.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_without_a_name_and_one_that_is_not_alone_in_front_are_told() {
        let nameless = Holder::other(b"", 7, 0, 1).to_string();
        assert_eq!(nameless, "held by session 0x7, in the queue since 1970-01-01T00:00:00Z");
        let nearest = Holder::this_client(2).to_string();
        assert_eq!(nearest, format!("the nearest of 2 in front is {OF_THIS_PROCESS}"));
    }

    #[test]
    fn long_data_and_bytes_that_are_no_text_are_shortened() {
        for data in [vec![b'x'; 1 << 20], vec![0xff; 1 << 20], "ü".repeat(1 << 10).into_bytes()] {
            let Holder::Other { identity, .. } = Holder::other(&data, 7, 0, 1) else { panic!("no holder") };
            assert_eq!(identity.chars().count(), SHOWN);
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown() {
        let holder = |ms| Holder::persistent("/a".to_owned(), ms, 1).to_string();
        assert!(holder(i64::MIN).contains(" 1970-01-01T00:00:00Z,"));
        assert!(holder(i64::MAX).contains(" 9999-12-31T23:59:59Z,"));
    }
}
