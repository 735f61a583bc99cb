//! The call or the process that a record is from.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The source of a record. Its text is `campaign`, `3.1` for a process, or `3.1/7/20` for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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
#[serde(try_from = "String", into = "String")]
pub(crate) struct Process {
    /// The number of the process, which it keeps when it is started again.
    pub(crate) number: u32,
    /// The number of earlier lives of the process.
    pub(crate) incarnation: u32,
}

/// The name of a call, which is unique in a history. Its text is `process/task/call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CallId {
    pub(crate) process: Process,
    /// The number of the task within the process.
    pub(crate) task: u32,
    /// The number of the call within the task, in the order in which the calls begin.
    pub(crate) call: u64,
}

/// The text is not that of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is none of `campaign`, `process.incarnation` and `process.incarnation/task/call`")]
pub(crate) struct InvalidSource {
    text: String,
}

impl InvalidSource {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.incarnation)
    }
}

impl FromStr for Process {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        let read = |text: &str| -> Result<Self, ParseIntError> {
            let (number, incarnation) = text.split_once('.').unwrap_or((text, ""));
            Ok(Self { number: number.parse()?, incarnation: incarnation.parse()? })
        };
        read(text).map_err(|_| InvalidSource::of(text))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.process, self.task, self.call)
    }
}

impl FromStr for CallId {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        let mut parts = text.split('/');
        let (Some(process), Some(task), Some(call), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidSource::of(text));
        };
        let (Ok(task), Ok(call)) = (task.parse(), call.parse()) else {
            return Err(InvalidSource::of(text));
        };
        Ok(Self { process: process.parse()?, task, call })
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

impl FromStr for Source {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        match text {
            "campaign" => Ok(Self::Campaign),
            _ if text.contains('/') => text.parse().map(Self::Call),
            _ => text.parse().map(Self::Process),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = InvalidSource;

    fn try_from(text: String) -> Result<Self, InvalidSource> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

impl TryFrom<String> for Process {
    type Error = InvalidSource;

    fn try_from(text: String) -> Result<Self, InvalidSource> {
        text.parse()
    }
}

impl From<Process> for String {
    fn from(process: Process) -> Self {
        process.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_as_it_is_written() {
        for text in ["campaign", "3.1", "3.1/7/20"] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        for text in ["", "x", "3", "3.", "3.1/", "3.1/7", "3.1/7/20/1", "3.1/x/20", "-1.0"] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
