//! One record of a history.

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::source::Source;

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

#[cfg(test)]
mod tests {
    use super::*;

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
