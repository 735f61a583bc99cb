//! The parts of the report that the summary of a history does not have.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use zklock_testkit::history::linear::Checked;
use zklock_testkit::history::{Event, History, Rule, Violation, Why};

/// Returns how much of the history was checked against sequential models.
pub(super) fn windows(checked: &[Checked]) -> String {
    let sum = |of: fn(&Checked) -> usize| checked.iter().map(of).sum::<usize>();
    let operations = sum(|checked| checked.report.operations);
    let windows = sum(|checked| checked.report.windows);
    let unchecked = sum(|checked| checked.report.unchecked.len());
    let left_out = sum(|checked| checked.report.unchecked.iter().map(|unchecked| unchecked.operations).sum());
    format!(
        "linearizable: {operations} operations in {windows} windows, of which {unchecked} with {left_out} operations \
         were too large to check{}\n",
        names(checked)
    )
}

/// Returns the operations that were not checked, by their lock or resource.
fn names(checked: &[Checked]) -> String {
    let mut text = String::new();
    for Checked { name, report, .. } in checked.iter().filter(|checked| !checked.report.unchecked.is_empty())
    {
        let left_out: usize = report.unchecked.iter().map(|unchecked| unchecked.operations).sum();
        // Writing to a text cannot fail.
        let _ = write!(text, ", {left_out} of {} of {name}", report.operations);
    }
    text
}

/// Returns the number of excused findings of each rule. Those about locks that could not be taken, and about nodes that are
/// left, are in full.
pub(super) fn excused(excused: &[Violation]) -> String {
    let mut counts = BTreeMap::<Rule, usize>::new();
    excused.iter().for_each(|violation| *counts.entry(violation.rule).or_default() += 1);
    let counts: Vec<_> = counts.iter().map(|(rule, count)| format!("{rule:?} {count}")).collect();
    let mut text = format!("{} findings are excused: {}\n", excused.len(), counts.join(", "));
    let is_told =
        |violation: &&Violation| matches!(violation.rule, Rule::Vacant | Rule::Starved | Rule::Left);
    for violation in excused.iter().filter(is_told) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "excused: {violation}");
    }
    text
}

/// Returns the number of grants of each lock, and the mean and the longest wait for it.
pub(super) fn waits(history: &History) -> String {
    let mut text = String::from("waits, in ms:\n");
    for (lock, holds) in history.holds_by_lock() {
        let waits = || holds.iter().map(|hold| hold.granted.saturating_sub(hold.asked) / 1_000_000);
        let (count, longest) = (holds.len() as u64, waits().max().unwrap_or_default());
        let mean = waits().sum::<u64>() / count.max(1);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {lock:<14} {count:>7} grants, mean {mean:>6}, longest {longest:>6}");
    }
    text
}

/// Returns the number of calls that failed, by their errors without numbers and names of nodes.
pub(super) fn errors(history: &History) -> String {
    let mut counts = BTreeMap::<String, u64>::new();
    for record in history.records() {
        let text = match &record.event {
            Event::GaveUp { why: Why::Error(text) } => text,
            Event::ReleaseFailed { text } | Event::ToldLost { reason: text } => text,
            _ => continue,
        };
        *counts.entry(without_figures(text)).or_default() += 1;
    }
    let mut text = String::from("errors:\n");
    for (error, count) in counts {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {count:>7} {error}");
    }
    text
}

fn without_figures(text: &str) -> String {
    let is_figure = |word: &&str| word.chars().any(|c| c.is_ascii_digit());
    let words = text.split(' ').map(|word| if is_figure(&word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ").chars().take(LENGTH).collect()
}

/// Returns a text without the lines that are too many for a screen; the whole text is stored.
pub(super) fn shortened(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let Some(left_out) = lines.len().checked_sub(LINES + 1).filter(|left_out| *left_out > 0) else {
        return text.to_owned();
    };
    let (first, last) = (lines[..LINES].join("\n"), lines[lines.len() - 1]);
    format!("{first}\n… {left_out} lines are left out …\n{last}")
}

/// The greatest length of an error in the report.
const LENGTH: usize = 160;
/// The number of lines that are printed.
const LINES: usize = 150;
