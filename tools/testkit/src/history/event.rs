//! The events of a history, in the order in which they come in the life of a call.
//!
//! All times and durations are in nanoseconds, and all times are those of the clock of the records.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::access::{Outcome, Way};
use super::source::Process;

/// An event of a call, of a process, or of the campaign that runs the processes.
///
/// The time of a record is taken so that the history never shows a hold longer than it was: after the lock was granted,
/// and before its release begins. A reader that does not know an event reads it as [`Event::Other`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A call asks for a lock. The time is taken before the call begins.
    Asked {
        /// The name of the lock. Holds of different names are independent.
        lock: String,
        /// The kind of place that the call wants.
        kind: Kind,
        /// The library that the process uses.
        #[serde(default, skip_serializing_if = "Library::is_zklock")]
        library: Library,
        /// The time that the call may take, or `None` for a call without a bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<u64>,
        /// The number of the call of the same task that holds the lock already, for a call that enters again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<u64>,
    },
    /// The call has the lock. The time is taken after the call has returned.
    Granted {
        /// The fencing token. Curator has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
        /// The time at which the lease runs out, as the client knows it now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// The client knows of a later end of the lease.
    Renewed {
        /// The time at which the lease runs out.
        until: u64,
    },
    /// The session of the hold does not answer. The hold is valid until its lease ends, unless it is Curator's, for
    /// which the hold ends here.
    Suspended,
    /// The session of a suspended hold answers again.
    Confirmed,
    /// The holder was told that it has lost the lock.
    ToldLost {
        /// The reason that the holder was given.
        reason: String,
    },
    /// The holder begins to give the lock back. The time is taken before the release, or the drop of the guard.
    ReleaseBegun,
    /// The holder has given the lock back. It is the end of the call.
    Released,
    /// The release failed, and the holder does not know when the lock is free. It is the end of the call.
    ReleaseFailed {
        /// The text of the error.
        text: String,
    },
    /// The call ends without the lock.
    GaveUp {
        /// The reason.
        why: Why,
    },

    /// The call read a resource. The time is taken after the answer.
    Read {
        /// The name of the resource.
        resource: String,
        /// The time at which the read began.
        began: u64,
        /// The cells of the resource that were read. A resource whose cells are written one by one, and are equal
        /// between two writes, shows a torn state by cells that differ. It is empty if the outcome is unknown.
        cells: Vec<u64>,
        /// The place of the latest write in the resource's own order of writes, such as a `mzxid`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
    },
    /// The call wrote a resource. The time is taken after the answer.
    Wrote {
        /// The name of the resource.
        resource: String,
        /// The protection of the resource.
        way: Way,
        /// The time at which the write began.
        began: u64,
        /// The value. The writers of a resource never write the same value twice.
        value: u64,
        /// The token that the writer passed to the resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
        /// The answer of the resource.
        outcome: Outcome,
        /// The place of this write in the resource's own order of writes, such as a `zxid`, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
    },
    /// Work that starts once per period has started.
    Started {
        /// The name of the work.
        work: String,
        /// The length of the period.
        period: u64,
        /// The time before the attempt to start began. The servers decided between this time and that of the record.
        began: u64,
    },

    /// The campaign began a fault.
    FaultBegan {
        /// The number of the fault. The end of the fault has the same number.
        fault: u64,
        /// The kind of the fault, such as `leader-kill`, for the counts of the report.
        kind: String,
        /// The target and the figures of the fault.
        description: String,
    },
    /// The campaign ended a fault.
    FaultEnded {
        /// The number of the fault.
        fault: u64,
    },
    /// The campaign breaks a lock by force, by deleting a node of it. Its holders of this time may not know of their loss
    /// yet when the next one is granted, and holds of the next second may be on a node that is about to be deleted. None
    /// of these are valid from here on. It is noted before the request and once more after the answer, which servers may
    /// give late.
    LockBroken {
        /// The name of the lock.
        lock: String,
        /// The zxid of the node's creation, or `None` if it is not known. Holds for one holder whose token shows that they
        /// are under another node stay valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zxid: Option<u64>,
    },
    /// The servers differ about the queue of a lock: one of them had a node before and after another one, which had caught
    /// up with its leader in between, did not have it. ZooKeeper breaks its own promise then, and contenders at the
    /// first server may wait behind a node that does not exist. The campaign notes it again as long as it sees it.
    ServersDiffer {
        /// The name of the lock.
        lock: String,
        /// The path of the node.
        node: String,
        /// The address of the server that has the node.
        has: String,
        /// The address of the server that does not have it.
        lacks: String,
    },
    /// A node has been in the queue of a lock for so long that the call which made it is over, or about to be. The campaign
    /// notes it again as long as it sees it.
    NodeStands {
        /// The name of the lock.
        lock: String,
        /// The path of the node.
        node: String,
        /// The library of the process whose session the node belongs to.
        library: Library,
    },
    /// The campaign makes a server end a session of a process, with the same consequences for all of its holds. It is noted
    /// before the request and once more after the answer.
    SessionEnded {
        /// The process.
        process: Process,
    },
    /// The campaign started a process. The time is taken before the start.
    ProcessStarted {
        /// The process.
        process: Process,
    },
    /// The campaign killed a process with SIGKILL. The time is taken before the signal.
    ProcessKilled {
        /// The process.
        process: Process,
    },
    /// The campaign stopped a process with SIGSTOP. The time is taken before the signal.
    ProcessStopped {
        /// The process.
        process: Process,
    },
    /// The campaign let a stopped process go on. The time is taken after the signal.
    ProcessContinued {
        /// The process.
        process: Process,
    },
    /// A process has ended by itself, after its last record.
    ProcessExited {
        /// The process.
        process: Process,
    },
    /// The process had no processor for this time, which ends here, or was stopped. It says so itself.
    Stalled {
        /// The time in nanoseconds.
        nanos: u64,
    },
    /// The nodes below the locks when every process had ended and every session was over. It is empty if nothing was
    /// left behind.
    NodesLeft {
        /// The paths of the nodes.
        paths: Vec<String>,
    },

    /// An event that this version does not know.
    #[serde(other)]
    Other,
}

/// The kind of place that a call wants in a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The lock for one holder.
    Mutex,
    /// A read lock, which readers share.
    Read,
    /// A write lock, for one holder and no reader.
    Write,
    /// Some of the permits of a semaphore.
    Permits {
        /// The number of permits that the call wants.
        n: u32,
        /// The number of all permits.
        of: u32,
    },
    /// A member of a multi-lock, which is for one holder. Each member has a call of its own.
    Member {
        /// The number of the call of the same task that has the whole: the smallest number of its members.
        of: u64,
    },
    /// A term of a leader.
    Leader,
}

/// The library through which a process takes locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Library {
    /// zklock.
    #[default]
    Zklock,
    /// Apache Curator, whose holds have no tokens and no leases.
    Curator,
}

impl Library {
    // The signature is that of `skip_serializing_if`.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_zklock(&self) -> bool {
        *self == Self::Zklock
    }
}

/// A fencing token: the zxid of the lock's node, and the number of earlier grants under that node. Tokens of later
/// holders are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token(pub u64, pub u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The reason for which a call ended without the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// The time of the call was over.
    TimedOut,
    /// The lock was taken, and the call does not wait.
    Contended,
    /// The task dropped the call.
    Cancelled,
    /// The work of the call had started within the period already.
    NotDue,
    /// The call failed with this error.
    Error(String),
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::source::{CallId, Source};
    use super::*;

    /// Returns one event of each kind, with every field.
    fn events() -> Vec<Event> {
        let process = Process { number: 2, incarnation: 1 };
        let (lock, resource, text) = ("a".to_owned(), "r".to_owned(), "t".to_owned());
        let token = Some(Token(u64::MAX, 3));
        let asked = |kind, library| Event::Asked {
            lock: lock.clone(),
            kind,
            library,
            within: Some(1),
            inside: Some(0),
        };
        vec![
            asked(Kind::Mutex, Library::Curator),
            asked(Kind::Permits { n: 2, of: 3 }, Library::Zklock),
            asked(Kind::Member { of: 4 }, Library::Zklock),
            Event::Granted { token, until: Some(9) },
            Event::Granted { token: None, until: None },
            Event::Renewed { until: 10 },
            Event::Suspended,
            Event::Confirmed,
            Event::ToldLost { reason: text.clone() },
            Event::ReleaseBegun,
            Event::Released,
            Event::ReleaseFailed { text: text.clone() },
            Event::GaveUp { why: Why::TimedOut },
            Event::GaveUp { why: Why::Error(text.clone()) },
            Event::Read { resource: resource.clone(), began: 1, cells: vec![1, 1], position: Some(5) },
            Event::Wrote {
                resource,
                way: Way::Fenced,
                began: 1,
                value: 7,
                token,
                outcome: Outcome::Unknown,
                position: None,
            },
            Event::Started { work: text.clone(), period: 5, began: 1 },
            Event::FaultBegan { fault: 1, kind: text.clone(), description: text },
            Event::FaultEnded { fault: 1 },
            Event::ServersDiffer {
                lock: lock.clone(),
                node: "/a/b".to_owned(),
                has: "127.0.0.1:1".to_owned(),
                lacks: "127.0.0.1:2".to_owned(),
            },
            Event::NodeStands { lock: lock.clone(), node: "/a/b".to_owned(), library: Library::Curator },
            Event::LockBroken { lock, zxid: Some(7) },
            Event::SessionEnded { process },
            Event::ProcessStarted { process },
            Event::ProcessKilled { process },
            Event::ProcessStopped { process },
            Event::ProcessContinued { process },
            Event::ProcessExited { process },
            Event::NodesLeft { paths: vec!["/a".to_owned()] },
        ]
    }

    #[test]
    fn every_event_is_read_as_it_is_written() {
        let process = Process { number: 3, incarnation: 0 };
        let by = Source::Call(CallId { process, task: 0, call: 1 });
        for event in events() {
            let record = Record { at: u64::MAX, by, event };
            let line = record.to_line();
            assert!(!line.contains('\n'));
            assert_eq!(Record::from_line(&line).unwrap(), record, "{line}");
        }
    }
}
