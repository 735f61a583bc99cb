//! The parts that describe many waiters, locks and sessions.

use std::fmt::Write;

use crate::bench::results::Results;
use crate::bench::scenarios::{ALONE, ZKLOCK};
use crate::step::Outcome;

/// Returns a table for each measurement, by its name.
pub(crate) fn parts(results: &Results) -> Outcome<Vec<(&'static str, String)>> {
    let parts = ALONE.into_iter().zip([WAITERS, HELD, PROCESSES, TAKEOVER]);
    parts.map(|((name, ..), rows)| Ok((name, table(results, name, rows)?))).collect()
}

fn table(results: &Results, name: &str, rows: Rows) -> Outcome<String> {
    let figures = results.of(name, ZKLOCK)?;
    let mut text = String::from("| | |\n|---|---:|\n");
    for (figure, words, unit) in rows {
        let value = figures.find(figure).map_or_else(|| "unknown".to_owned(), formatted);
        writeln!(text, "| {words} | {value}{}{unit} |", if unit.is_empty() { "" } else { " " })?;
    }
    Ok(text)
}

/// Formats a number with the digits that differ between runs.
fn formatted(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Names of figures, what they are in words, and their units.
type Rows = &'static [(&'static str, &'static str, &'static str)];

const WAITERS: Rows = &[
    ("tasks", "tasks of one client that wait at one lock", ""),
    ("nodes", "their nodes on the server", ""),
    ("bytes_per_waiter", "resident memory of one task", "bytes"),
    ("bytes_per_bare_task", "resident memory of a task of tokio that only waits", "bytes"),
    ("bytes_of_future", "size of the future of a waiting task, which its resident memory includes", "bytes"),
    ("entered_ms", "from the first spawn until all wait", "ms"),
    ("free_lock_ms", "median of another lock, taken and released by this client meanwhile", "ms"),
    ("free_lock_of_quiet_client_ms", "the same by a client without waiters", "ms"),
    ("served_ms", "from the release of the holder until each task has had the lock and released it", "ms"),
    ("requests_while_served", "requests meanwhile", ""),
    ("cancelled_ms", "from the cancellation of all tasks until their node is gone", "ms"),
    ("requests_while_cancelled", "requests meanwhile", ""),
];

const HELD: Rows = &[
    ("locks", "locks that one client holds", ""),
    ("bytes_per_lock", "resident memory of one lock", "bytes"),
    ("bytes_of_path", "length of the path of its node, which that includes", "bytes"),
    ("taken_ms", "time to take all of them", "ms"),
    ("given_up_ms", "time to release all of them", "ms"),
    ("requests_per_s_at_rest", "requests per second at rest, without pings", ""),
    ("pings_per_s_at_rest", "pings per second at rest", ""),
    ("told_first_ms", "from the deletion of the first node by an outsider until its holder is told", "ms"),
    ("told_last_ms", "the same of the last node", "ms"),
    ("requests_of_reconnect", "requests after the loss of the connection until all are known to be held", ""),
    ("confirmed_ms", "time until then", "ms"),
];

const PROCESSES: Rows = &[
    ("sessions", "sessions that contend for one lock, with one task each", ""),
    ("turns_per_s", "turns per second", ""),
    ("requests_per_turn", "requests of a turn", ""),
    ("events_per_turn", "watch events of a turn", ""),
    ("longest_wait_ms", "longest wait", "ms"),
];

const TAKEOVER: Rows = &[
    ("rounds", "holders that were killed", ""),
    ("session_timeout_ms", "session timeout", "ms"),
    ("tick_ms", "tick of the server", "ms"),
    ("best_ms", "shortest time from the kill until the next holder", "ms"),
    ("median_ms", "median", "ms"),
    ("worst_ms", "longest", "ms"),
];
