//! One record of a history with its source, and the files of records, with one record a line.

use std::error::Error;
use std::fmt;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use crate::history::Event;

/// An event with its time and its source, such as
/// `{"at":1200,"by":{"process":{"number":3,"incarnation":1}},"is":"stalled","nanos":5000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The time in nanoseconds, by `CLOCK_BOOTTIME`.
    pub(crate) at: u64,
    pub(crate) by: Source,
    #[serde(flatten)]
    pub(crate) event: Event,
}

impl Record {
    /// Returns the record as one line of JSON, without the newline.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a record has no maps, and no writer that can fail")
    }
}

/// Reads the records of a file up to its last whole line: a process that was killed may have left half a line.
///
/// Fails with the name of the file if a whole line is not a record.
pub(crate) fn read(file: &str, mut from: impl BufRead) -> Result<Vec<Record>, Box<dyn Error + Send + Sync>> {
    let (mut records, mut line) = (Vec::new(), Vec::new());
    for number in 1.. {
        line.clear();
        from.read_until(b'\n', &mut line)?;
        let Some(b'\n') = line.pop() else { break };
        let record = serde_json::from_slice(&line)
            .map_err(|error| format!("line {number} of {file} is not a record: {error}"))?;
        records.push(record);
    }
    Ok(records)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Token, source};

    fn record() -> Record {
        let event = Event::Granted { token: Token(u64::MAX, 2), until: u64::MAX };
        Record { at: u64::MAX, by: source("3.1/7/20"), event }
    }

    #[test]
    fn records_are_read_as_they_are_written_up_to_the_last_whole_line() {
        let line = record().to_line();
        for end in 0..line.len() {
            let file = format!("{line}\n{line}\n{}", &line[..end]);
            assert_eq!(read("a", file.as_bytes()).unwrap(), [record(), record()], "{file}");
        }
    }

    #[test]
    fn a_whole_line_that_is_no_record_is_an_error_with_file_and_line() {
        let line = record().to_line();
        for broken in ["{\"at\":1", "\u{0}", &line.replace("granted", "eclipsed")] {
            let file = format!("{line}\n{broken}\n{line}\n");
            let error = read("p3.jsonl", file.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("line 2 of p3.jsonl is not a record: "), "{error}");
        }
    }
}
