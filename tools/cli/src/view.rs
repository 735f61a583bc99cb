//! Locks and participants, as lines of a table and as JSON.

use std::fmt::{Debug, Write};
use std::time::SystemTime;

use serde_json::{Value, json};
use zklock::{Participant, SurveyedLock};

/// Aligns the cells of rows by the longest cell of each column.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..N).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: [&str; N]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            write!(line, "{cell:<width$}  ").ok();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(heading);
    rows.iter().for_each(|row| line(row.each_ref().map(String::as_str)));
    text
}

/// Makes a text from a server fit for a terminal, which must not obey it.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The name of a kind, a mode or a standing, which is that of the library in lower case.
pub(crate) fn word(value: impl Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// The time in UTC, to the second.
pub(crate) fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// The name of a participant, or its session if it has none. A persistent node in the queue is none.
pub(crate) fn name(participant: &Participant) -> String {
    if participant.is_persistent() {
        let node = shown(&format!("{}/{}", participant.path, participant.node));
        return format!("persistent node {node}: no session owns it, and it stays until somebody deletes it");
    }
    match participant.identity.as_str() {
        "" => format!("session {:#x}", participant.session_id),
        identity => shown(identity),
    }
}

pub(crate) fn participant(participant: &Participant) -> Value {
    json!({
        "queue": participant.path,
        "node": participant.node,
        "identity": participant.identity,
        "session": format!("{:#x}", participant.session_id),
        "persistent": participant.is_persistent(),
        "since": time(participant.entered),
        "token": participant.fencing_token.to_text(),
        "mode": word(participant.mode),
        "standing": word(participant.standing),
    })
}

pub(crate) fn lock(lock: &SurveyedLock) -> Value {
    let participants: Vec<_> = lock.participants.iter().map(participant).collect();
    json!({
        "path": lock.path,
        "kind": word(lock.kind),
        "holding": lock.holding,
        "waiting": lock.waiting,
        "participants": participants,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = [["/a".to_owned(), "x".to_owned()], ["/longer".to_owned(), "y".to_owned()]];
        assert_eq!(table(["PATH", "KIND"], &rows), "PATH     KIND\n/a       x\n/longer  y\n");
    }

    #[test]
    fn a_name_does_not_control_the_terminal() {
        assert_eq!(shown("host\u{1b}[2J\n"), "host\u{fffd}[2J\u{fffd}");
    }
}
