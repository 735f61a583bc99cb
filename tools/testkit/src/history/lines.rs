//! The files of a history: one record a line.

use std::io::{BufRead, Write};

use super::record::Record;
use crate::error::Error;

/// Writes a record and the newline behind it, in one call of `write_all`.
///
/// A process that is killed in between leaves half a line at most, which [`read`] leaves out. Each life of a process
/// needs a file of its own, because a line behind such a half is lost.
///
/// # Errors
///
/// Fails with [`Error::Io`] if the writer does.
pub fn write(record: &Record, to: &mut impl Write) -> Result<(), Error> {
    let mut line = record.to_line();
    line.push('\n');
    to.write_all(line.as_bytes()).map_err(Error::io("write a record of a history"))
}

/// Reads the records of a file up to its last whole line.
///
/// `file` is the name of the file in errors. Empty lines are skipped.
///
/// # Errors
///
/// Fails with [`Error::NotARecord`] if a whole line is not a record, and with [`Error::Io`] if the reader fails.
pub fn read(file: &str, mut from: impl BufRead) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        from.read_until(b'\n', &mut line).map_err(Error::io("read a history"))?;
        // The end of the file, or half a line in front of it.
        let Some(b'\n') = line.pop() else { break };
        if !line.trim_ascii().is_empty() {
            records.push(parse(&line).map_err(|reason| Error::NotARecord {
                file: file.to_owned(),
                line: number,
                reason,
            })?);
        }
    }
    Ok(records)
}

fn parse(line: &[u8]) -> Result<Record, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    Record::from_line(line)
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::source::Source;
    use super::*;

    const WHOLE: &str = "{\"at\":1,\"by\":\"1.0/0/0\",\"is\":\"release_begun\"}\n";

    #[test]
    fn records_are_read_as_they_are_written() {
        let record = |at| Record { at, by: Source::Campaign, event: Event::FaultEnded { fault: at } };
        let mut file = Vec::new();
        (0..3).for_each(|at| write(&record(at), &mut file).unwrap());
        assert_eq!(read("a", &file[..]).unwrap(), [0, 1, 2].map(record));
    }

    #[test]
    fn a_file_that_ends_in_half_a_line_is_read_up_to_its_last_whole_line() {
        let whole = format!("{WHOLE}\n{WHOLE}");
        for end in 0..WHOLE.len() {
            let file = format!("{whole}{}", &WHOLE[..end]);
            assert_eq!(read("a", file.as_bytes()).unwrap().len(), 2, "{file}");
        }
        // Half of a character.
        assert_eq!(read("a", &[WHOLE.as_bytes(), &[0xc3]].concat()[..]).unwrap().len(), 1);
    }

    #[test]
    fn a_whole_line_that_is_no_record_is_an_error_with_file_and_line() {
        for broken in ["{\"at\":1\n", "\u{0}\n", "{\"at\":1,\"by\":\"1.0/0\",\"is\":\"released\"}\n"] {
            let file = format!("{WHOLE}{broken}{WHOLE}");
            let error = read("p3.jsonl", file.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("line 2 of p3.jsonl is not a record: "), "{error}");
        }
        let error = read("a", &b"\xff\n"[..]).unwrap_err();
        assert!(matches!(error, Error::NotARecord { line: 1, .. }));
    }
}
