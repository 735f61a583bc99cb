//! Checks that the runbook and the container file in `docs/operations/` are true.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::between;
use super::{code, document, sources};

const RUNBOOK: &str = "docs/operations/README.md";

/// The rows of the only table below a heading, each as its cells. A cell that is one piece of code has no marks.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let level = heading.split(' ').next();
    let below = text.lines().skip_while(|line| *line != heading).skip(1);
    let section = below.take_while(|line| line.split(' ').next() != level);
    // The first two are the names of the columns, and the line below them.
    let lines = section.filter(|line| line.starts_with('|')).skip(2);
    let inside = |cell: &str| {
        let code = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        code.filter(|code| !code.contains('`')).unwrap_or(cell).to_owned()
    };
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| inside(cell.trim())).collect();
    lines.map(cells).collect()
}

/// Asserts that a table has a row for each of these things, and no other row.
#[track_caller]
fn assert_rows<T: Ord + std::fmt::Debug>(rows: Vec<T>, things: impl IntoIterator<Item = T>) {
    let (count, rows) = (rows.len(), BTreeSet::from_iter(rows));
    assert_eq!(rows.len(), count, "a row twice");
    let things = BTreeSet::from_iter(things);
    assert!(things.len() > 5, "there are only {things:?}");
    let missing: Vec<_> = things.difference(&rows).collect();
    let unknown: Vec<_> = rows.difference(&things).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:#?}, unknown: {unknown:#?}");
}

#[test]
fn the_runbook_has_each_metric_with_its_labels_and_its_unit() {
    let (catalog, guide) = (document("zklock-core/src/metrics.rs"), document("docs/guide/metrics.md"));
    let metrics = between(&catalog, "\"zklock_", '"').map(|text| format!("zklock_{text}"));
    let labels: BTreeMap<_, _> =
        rows(&guide, "# The metrics").into_iter().map(|row| (row[0].clone(), row[2].clone())).collect();
    let units = [("_seconds", "s"), ("_bytes", "bytes")];
    let unit = |name: &str| {
        units.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit).to_owned()
    };
    let known = metrics.map(|name| (name.clone(), labels[&name].clone(), unit(&name)));
    let rows = rows(&document(RUNBOOK), "## Metrics").into_iter();
    assert_rows(rows.map(|row| (row[0].clone(), row[1].clone(), row[2].clone())).collect(), known);
}

#[test]
fn the_runbook_has_each_alert_with_a_command_that_checks_it() {
    let rules = document("docs/operations/alerts.yml");
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned);
    let rows = rows(&document(RUNBOOK), "## Alerts");
    assert!(rows.iter().all(|row| row[2].contains("`zklock ")), "an alert without a command");
    assert_rows(rows.into_iter().map(|row| row[0].clone()).collect(), alerts);
}

/// The messages that a source logs by this macro of the crate `tracing`: the last argument of each call.
fn logged(text: &str, level: &str) -> Vec<String> {
    let text: String = code(text).flat_map(|line| [line, "\n"]).collect();
    let opening = format!("tracing::{level}!(");
    let calls = text.split(&opening).skip(1);
    let message = |call: &str| {
        let pieces: Vec<_> = call.split('"').collect();
        let mut texts = pieces.windows(2).skip(1).step_by(2);
        let is_last = |after: &str| after.trim_start_matches([',', ' ', '\n']).starts_with(')');
        texts.find(|pair| is_last(pair[1])).expect("a call that logs has a message")[0].to_owned()
    };
    calls.map(message).collect()
}

#[test]
fn the_runbook_has_each_warning_and_each_error_of_the_library() {
    let sources = ["src", "zklock-core/src"].into_iter().flat_map(sources);
    let lines = sources.flat_map(|(_, text)| {
        let of =
            |level: &str| logged(&text, level).into_iter().map(|line| (level.to_uppercase(), line)).collect();
        let [warnings, errors]: [Vec<_>; 2] = ["warn", "error"].map(of);
        [warnings, errors].concat()
    });
    let rows = rows(&document(RUNBOOK), "## Log lines").into_iter();
    assert_rows(rows.map(|row| (row[0].clone(), row[1].clone())).collect(), lines);
}

#[test]
fn a_message_is_found_behind_other_arguments_and_on_a_line_of_its_own() {
    let text =
        "tracing::warn!(a = f(\"x\", 1), \"first\");\ng(|e| tracing::warn!(%e,\n    \"second\",\n));\n";
    assert_eq!(logged(text, "warn"), ["first", "second"]);
    assert_eq!(logged(text, "error"), [""; 0]);
}

#[test]
fn the_runbook_has_each_exit_code_of_the_command() {
    let source = document("tools/cli/src/exit.rs");
    let codes = source.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let codes: Vec<u8> = codes.filter_map(|(_, number)| number.parse().ok()).collect();
    let rows = rows(&document(RUNBOOK), "## Exit codes");
    let (ours, others): (Vec<_>, Vec<_>) =
        rows.iter().map(|row| row[0].as_str()).partition(|cell| cell.parse::<u8>().is_ok());
    assert_eq!(others, ["128 + n"]);
    assert_rows(ours.into_iter().map(|cell| cell.parse().unwrap()).collect(), codes);
}
