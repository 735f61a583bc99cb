//! One record of a history, and the call or process that it is from.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::event::Event;

/// An event with its time and its source.
///
/// ```
/// use zklock_testkit::history::{CallId, Event, Process, Record, Source, Token};
///
/// let call = CallId { process: Process { number: 3, incarnation: 1 }, task: 7, call: 20 };
/// let event = Event::Granted { token: Some(Token(4294967301, 2)), until: Some(5_000) };
/// let record = Record { at: 1_200, by: Source::Call(call), event };
/// let line = r#"{"at":1200,"by":"3.1/7/20","is":"granted","token":[4294967301,2],"until":5000}"#;
/// assert_eq!(record.to_line(), line);
/// assert_eq!(Record::from_line(line).unwrap(), record);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The time in nanoseconds, by `CLOCK_BOOTTIME`.
    pub at: u64,
    /// The source of the record.
    pub by: Source,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    /// Returns the record as one line of JSON, without the newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a record has no maps, and no writer that can fail")
    }

    /// Reads a record from one line.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the line is not a record. A record with an unknown event is [`Event::Other`].
    pub fn from_line(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }
}

/// The source of a record. Its text is `campaign`, `3.1` for a process, or `3.1/7/20` for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
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
pub struct Process {
    /// The number of the process, which it keeps when it is started again.
    pub number: u32,
    /// The number of earlier lives of the process.
    pub incarnation: u32,
}

/// The name of a call, which is unique in a history. Its text is `process/task/call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    /// The process that makes the call.
    pub process: Process,
    /// The number of the task within the process.
    pub task: u32,
    /// The number of the call within the task, in the order in which the calls begin.
    pub call: u64,
}

/// The text is not that of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is none of `campaign`, `process.incarnation` and `process.incarnation/task/call`")]
pub struct InvalidSource {
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

    #[test]
    fn an_unknown_event_and_unknown_fields_are_read() {
        let line = r#"{"at":1,"by":"campaign","is":"eclipse","of":{"the":"sun"}}"#;
        assert_eq!(Record::from_line(line).unwrap().event, Event::Other);
        let line = r#"{"at":1,"by":"1.0/0/0","is":"released","later":[1]}"#;
        assert_eq!(Record::from_line(line).unwrap().event, Event::Released);
    }

    #[test]
    fn a_line_that_is_no_record_is_refused() {
        for line in [
            "",
            "{}",
            r#"{"at":-1,"by":"campaign","is":"released"}"#,
            r#"{"at":1,"by":"me","is":"released"}"#,
            r#"{"at":1,"by":"1.0/0/0","is":"renewed"}"#,
            r#"{"at":1,"by":"1.0/0/0","is":"released"} {}"#,
        ] {
            assert!(Record::from_line(line).is_err(), "{line}");
        }
    }
}
