//! One record of a history, and the files of records, with one record a line.

use std::error::Error;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::source::Source;

/// An event with its time and its source, such as
/// `{"at":1200,"by":{"process":{"number":3,"incarnation":1}},"is":"stalled","nanos":5000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The time in nanoseconds, by `CLOCK_BOOTTIME`.
    pub(crate) at: u64,
    pub(crate) by: Source,
    /// The event.
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

#[cfg(test)]
mod tests {
    use super::super::event::Token;
    use super::super::story::source;
    use super::*;

    fn record() -> Record {
        let event = Event::Granted { token: Some(Token(u64::MAX, 2)), until: None };
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
