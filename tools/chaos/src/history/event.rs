//! The events of a history, in the order in which they come in the life of a call.
//!
//! All times and durations are in nanoseconds, and all times are those of the clock of the records.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::history::Process;

/// An event of a call, of a process, or of the campaign that runs the processes.
///
/// The time of a record is taken so that the history never shows a hold longer than it was: after the lock was granted,
/// and before its release begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A call asks for a place in a lock, and may take this time. Holds of locks with different names are independent.
    /// The time is taken before the call begins.
    Asked { lock: String, kind: Kind, within: u64 },
    /// The call has the lock, and a lease until this time as the client knows it now. The time is taken after the call
    /// has returned.
    Granted { token: Token, until: u64 },
    /// The client knows of a later end of the lease.
    Renewed { until: u64 },
    /// The holder was told that it has lost the lock.
    ToldLost { reason: String },
    /// The holder begins to give the lock back. The time is taken before the release, or the drop of the guard.
    ReleaseBegun,
    /// The holder has given the lock back. It is the end of the call.
    Released,
    /// The release failed, and the holder does not know when the lock is free. It is the end of the call.
    ReleaseFailed { text: String },
    /// The call ends without the lock.
    GaveUp { why: Why },

    /// The call read a resource, and nothing if the outcome is unknown. The time is taken after the answer.
    Read { resource: String, began: u64, value: Option<u64> },
    /// The call wrote a value, which no other write of the resource has. The time is taken after the answer.
    Wrote { resource: String, way: Way, began: u64, value: u64, outcome: Outcome },
    /// Work that starts once per period has started. The servers decided between the time before the attempt began and
    /// that of the record.
    Started { work: String, period: u64, began: u64 },
    /// An attempt to start such work has failed, or has found that its period has begun.
    NotStarted { work: String },

    /// The campaign began a fault of a kind such as `kill-leader`. Its end has the same number.
    FaultBegan { fault: u64, kind: String },
    /// The campaign ended a fault.
    FaultEnded { fault: u64 },
    /// The campaign breaks a lock by force, by deleting a node of it. Its holders of this time may not know of their loss
    /// yet when the next one is granted, and holds of the next second may be on a node that is about to be deleted. None
    /// of these are valid from here on, unless a token shows that a hold for one holder is under another node than the one
    /// that was created with this zxid. It is noted before the request and once more after the answer, which servers may
    /// give late.
    LockBroken { lock: String, zxid: u64 },
    /// The campaign makes a server end a session of a process, with the same consequences for all of its holds. It is noted
    /// before the request and once more after the answer.
    SessionEnded { process: Process },
    /// The campaign killed a process with SIGKILL. The time is taken before the signal.
    ProcessKilled { process: Process },
    /// The campaign stopped a process with SIGSTOP. The time is taken before the signal.
    ProcessStopped { process: Process },
    /// The campaign let a stopped process go on. The time is taken after the signal.
    ProcessContinued { process: Process },
    /// A process has ended by itself, after its last record.
    ProcessExited { process: Process },
    /// The process had no processor for this time, which ends here, or was stopped. It says so itself.
    Stalled { nanos: u64 },
    /// The nodes below the locks when every process had ended and every session was over. It is empty if nothing was
    /// left behind.
    NodesLeft { paths: Vec<String> },
}

/// The kind of place that a call wants in a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The lock for one holder.
    Mutex,
    /// A read lock, which readers share.
    Read,
    /// A write lock, for one holder and no reader.
    Write,
    /// Some of the permits of a semaphore.
    Permits { n: u32, of: u32 },
    /// A term of a leader.
    Leader,
}

/// A fencing token: the zxid of the lock's node, and the number of earlier grants under that node. Tokens of later
/// holders are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Token(pub(crate) u64, pub(crate) u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The reason for which a call ended without the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    /// The time of the call was over.
    TimedOut,
    /// The task dropped the call.
    Cancelled,
    /// The call failed with this error.
    Error(String),
}

/// The protection of a resource against writers that have lost the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// The resource takes every write.
    Plain,
    /// The resource refuses tokens that are older than the latest one it has seen.
    Fenced,
    /// The write is a transaction of ZooKeeper that checks the lock's node.
    Guarded,
}

/// The answer of a resource to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The write was applied between its beginning and its end.
    Applied,
    /// The write was not applied, and never will be.
    Refused,
    /// The write may have been applied, or may be applied at any later time.
    Unknown,
}
