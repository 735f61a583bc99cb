//! The check of a history, and the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use super::{Outcome, Verdict};
use crate::chronicle::Chronicle;
use crate::fleet::Exit;
use crate::history::{self, Bounds, Event, Findings, History, Source, Summary, Violation, Why, check};
use crate::journal::ENDING;
use crate::options::Options;
use crate::schedule::Plan;

/// Checks the history, and prints and stores the report.
pub(super) fn reached(
    chronicle: &Chronicle,
    directory: &Path,
    (options, plan): (&Options, &Plan),
    failed: &[Exit],
) -> Outcome<Verdict> {
    let history = merged(directory)?;
    let Findings { violations, excused } = check::all(&history, &Bounds::default());
    let summary = Summary::of(&history);
    let mut text = format!("{options:?}\n{summary}");
    text += &waits(&history);
    text += &errors(&history);
    writeln!(text, "{} faults could not be injected", chronicle.failures())?;
    text += &self::excused(&excused);
    let idle = idle(&history, options.processes());
    for number in &idle {
        writeln!(text, "Process: {number} has held no lock")?;
    }
    for exit in failed {
        writeln!(text, "Process: {} ended: {}", exit.process, exit.how)?;
    }
    for violation in &violations {
        writeln!(text, "{violation}")?;
    }
    let (unread, invalid) = (unread(&summary), invalid(&summary));
    text.extend(unread.iter().chain(&invalid).cloned());
    let absent = absent(plan, &summary, &chronicle.unfinished_kinds());
    for kind in &absent {
        writeln!(text, "Absent: {kind} was planned, and could never be injected")?;
    }
    let found = [violations.len(), failed.len(), idle.len(), absent.len()];
    let found = found.iter().sum::<usize>() + unread.iter().chain(&invalid).count();
    writeln!(text, "{found} violations")?;
    fs::write(directory.join("report.txt"), &text)?;
    println!("{}", shortened(&text));
    Ok(if found == 0 { Verdict::Kept } else { Verdict::Broken })
}

/// Checks a history again, and prints what is in it and what it violates.
pub(super) fn again(directory: &Path) -> Outcome<Verdict> {
    let history = merged(directory)?;
    let Findings { violations, excused } = check::all(&history, &Bounds::default());
    let summary = Summary::of(&history);
    print!("{summary}{}", self::excused(&excused));
    violations.iter().for_each(|violation| println!("{violation}"));
    let (unread, invalid) = (unread(&summary), invalid(&summary));
    unread.iter().chain(&invalid).for_each(|line| print!("{line}"));
    let found = violations.len() + unread.iter().chain(&invalid).count();
    println!("{found} violations");
    Ok(if found == 0 { Verdict::Kept } else { Verdict::Broken })
}

/// Returns a line about the records that the checks do not know, which may hide a violation.
fn unread(summary: &Summary) -> Option<String> {
    (summary.unknown > 0).then(|| format!("Unread: {} records are of an unknown kind\n", summary.unknown))
}

/// Returns a line about holds that were never valid, if they are so many that the checks say little.
fn invalid(summary: &Summary) -> Option<String> {
    let (never, all) = (summary.never_valid, summary.holds.values().sum::<u64>());
    (never > FEW + all / 50).then(|| format!("Invalid: {never} of {all} holds were never valid\n"))
}

/// Returns the kinds of faults that were planned several times, and that never struck in a run that was long enough.
fn absent(plan: &Plan, summary: &Summary, unfinished: &BTreeMap<String, usize>) -> Vec<String> {
    let mut planned = BTreeMap::<String, usize>::new();
    for fault in plan.schedule() {
        *planned.entry(fault.fault.kind().name()).or_default() += 1;
    }
    let is_absent = |(kind, times): &(String, usize)| {
        let in_time = times.saturating_sub(unfinished.get(kind).copied().unwrap_or_default());
        in_time >= SEVERAL && !summary.faults.contains_key(kind)
    };
    planned.into_iter().filter(is_absent).map(|(kind, _)| kind).collect()
}

/// Reads the histories of all processes.
fn merged(directory: &Path) -> Outcome<History> {
    let mut records = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ENDING) {
            let file = BufReader::new(File::open(&path)?);
            records.extend(history::read(&path.to_string_lossy(), file)?);
        }
    }
    Ok(History::new(records))
}

/// Returns the numbers of the processes that have held no lock, of which a campaign shows nothing.
fn idle(history: &History, processes: usize) -> Vec<usize> {
    let held = |number: usize| {
        history.records().iter().any(|record| match (&record.by, &record.event) {
            (Source::Call(call), Event::Granted { .. }) => usize::try_from(call.process.number) == Ok(number),
            _ => false,
        })
    };
    (0..processes).filter(|number| !held(*number)).collect()
}

/// Returns the excused findings in full.
fn excused(excused: &[Violation]) -> String {
    let findings: String = excused.iter().map(|violation| format!("excused: {violation}\n")).collect();
    format!("{} findings are excused\n{findings}", excused.len())
}

/// Returns the number of grants of each lock, and the mean and the longest wait for it.
fn waits(history: &History) -> String {
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
fn errors(history: &History) -> String {
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
fn shortened(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let Some(left_out) = lines.len().checked_sub(LINES + 1).filter(|left_out| *left_out > 0) else {
        return text.to_owned();
    };
    let (first, last) = (lines[..LINES].join("\n"), lines[lines.len() - 1]);
    format!("{first}\n… {left_out} lines are left out …\n{last}")
}

/// The number of holds that a process without a processor gets too late.
const FEW: u64 = 10;
/// The number of faults of one kind that do not all fail by chance.
const SEVERAL: usize = 3;
/// The greatest length of an error in the report.
const LENGTH: usize = 160;
/// The number of lines that are printed.
const LINES: usize = 150;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::history::Ending;
    use crate::schedule::Kind;

    use super::*;

    #[test]
    fn a_kind_of_fault_that_was_planned_several_times_and_never_struck_is_absent() {
        let (length, kinds) = (Duration::from_secs(60), vec![Kind::Cut]);
        let plan = Plan { seed: 1, length, servers: 3, processes: 8, kinds };
        let mut summary = Summary::default();
        let unfinished = |times| BTreeMap::from([("cut".to_owned(), times)]);
        let none = BTreeMap::new();
        assert_eq!(absent(&plan, &summary, &none), ["cut"]);
        // The run ended too early for some of them, and for all.
        let planned = plan.schedule().len();
        assert_eq!(absent(&plan, &summary, &unfinished(planned - SEVERAL)), ["cut"]);
        assert_eq!(absent(&plan, &summary, &unfinished(planned)), [""; 0]);
        summary.faults.insert("cut".to_owned(), 1);
        assert_eq!(absent(&plan, &summary, &none), [""; 0]);
    }

    #[test]
    fn many_holds_that_were_never_valid_fail_the_check() {
        let of = |never_valid| Summary {
            never_valid,
            holds: BTreeMap::from([(Ending::Released, 1_000)]),
            ..Summary::default()
        };
        assert_eq!(invalid(&of(30)), None);
        assert!(invalid(&of(31)).is_some_and(|line| line.starts_with("Invalid: 31 ")));
    }

    #[test]
    fn records_of_an_unknown_kind_fail_the_check() {
        assert_eq!(unread(&Summary::default()), None);
        let unknown = Summary { unknown: 2, ..Summary::default() };
        assert!(unread(&unknown).is_some_and(|line| line.starts_with("Unread: 2 ")));
    }
}
