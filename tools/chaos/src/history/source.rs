//! The call or the process that a record is from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The source of a record. Its text is `campaign`, `3.1` for a process, or `3.1/7/20` for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The program that starts the processes and injects the faults.
    Campaign,
    /// A process as a whole.
    Process(Process),
    /// One call of a task.
    Call(CallId),
}

/// One life of a process. Its text is the number, a dot and the incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Process {
    /// The number of the process, which it keeps when it is started again.
    pub(crate) number: u32,
    /// The number of earlier lives of the process.
    pub(crate) incarnation: u32,
}

/// The name of a call, which is unique in a history. Its text is `process/task/call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct CallId {
    pub(crate) process: Process,
    /// The number of the task within the process.
    pub(crate) task: u32,
    /// The number of the call within the task, in the order in which the calls begin.
    pub(crate) call: u64,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.incarnation)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.process, self.task, self.call)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Campaign => f.write_str("campaign"),
            Self::Process(process) => process.fmt(f),
            Self::Call(call) => call.fmt(f),
        }
    }
}
