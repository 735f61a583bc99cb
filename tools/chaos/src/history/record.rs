//! One record of a history, and the files of records, with one record a line.

use std::error::Error;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::source::Source;

/// An event with its time and its source, such as
/// `{"at":1200,"by":"3.1/7/20","is":"granted","token":[4294967301,2],"until":5000}`.
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
/// Fails with the name of the file if a whole line is not a record. A record with an unknown event is [`Event::Other`].
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
    use super::*;

    const WHOLE: &str = "{\"at\":1,\"by\":\"1.0/0/0\",\"is\":\"release_begun\"}\n";

    #[test]
    fn records_are_read_as_they_are_written_and_unknown_events_as_such() {
        let event = Event::Granted { token: Some(Token(u64::MAX, 2)), until: Some(5_000) };
        let record = Record { at: u64::MAX, by: "3.1/7/20".parse().unwrap(), event };
        let file =
            record.to_line() + "\n" + r#"{"at":1,"by":"campaign","is":"eclipse","of":{"the":"sun"}}"# + "\n";
        let unknown = Record { at: 1, by: Source::Campaign, event: Event::Other };
        assert_eq!(read("a", file.as_bytes()).unwrap(), [record, unknown]);
    }

    #[test]
    fn a_file_that_ends_in_half_a_line_is_read_up_to_its_last_whole_line() {
        for end in 0..WHOLE.len() {
            let file = format!("{WHOLE}{WHOLE}{}", &WHOLE[..end]);
            assert_eq!(read("a", file.as_bytes()).unwrap().len(), 2, "{file}");
        }
    }

    #[test]
    fn a_whole_line_that_is_no_record_is_an_error_with_file_and_line() {
        for broken in ["{\"at\":1\n", "\u{0}\n", "{\"at\":1,\"by\":\"me\",\"is\":\"released\"}\n"] {
            let file = format!("{WHOLE}{broken}{WHOLE}");
            let error = read("p3.jsonl", file.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("line 2 of p3.jsonl is not a record: "), "{error}");
        }
    }
}
