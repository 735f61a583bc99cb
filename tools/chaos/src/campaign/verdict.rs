//! The check of a history, its counts, and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use super::Outcome;
use crate::fleet::Exit;
use crate::history::{self, Bounds, Ending, Event, History, Outcome as Written, Way, Why, check};
use crate::journal::{Chronicle, ENDING};
use crate::options::Options;

/// Checks the history, and prints and stores the report. Returns whether it finds no violation.
pub(super) fn reached(
    chronicle: &Chronicle,
    directory: &Path,
    options: &Options,
    failed: &[Exit],
) -> Outcome<bool> {
    let history = merged(directory)?;
    let (summary, mut found) = checked(&history);
    found.extend(idle(&history, options.processes()));
    found.extend(failed.iter().map(|exit| format!("Process: {} ended: {}", exit.process, exit.how)));
    let failures = chronicle.failures();
    found.extend(absent(&failures, &summary));
    let (waits, errors) = (waits(&history), errors(&history));
    let failures = format!("{} faults could not be injected\n", failures.values().sum::<usize>());
    let text = report(&format!("{options:?}\n{summary}{waits}{errors}{failures}"), &found);
    fs::write(directory.join("report.txt"), &text)?;
    println!("{}", shortened(&text));
    Ok(found.is_empty())
}

/// Checks a history again, and prints what is in it and what it violates. Returns whether it finds no violation.
pub(super) fn again(directory: &Path) -> Outcome<bool> {
    let (summary, found) = checked(&merged(directory)?);
    println!("{}", report(&summary.to_string(), &found));
    Ok(found.is_empty())
}

/// Returns the counts of a history, and the violations in it.
fn checked(history: &History) -> (Summary, Vec<String>) {
    let summary = Summary::of(history);
    let violations = check::all(history, &Bounds::default());
    let found = violations.iter().map(ToString::to_string).chain(invalid(&summary)).collect();
    (summary, found)
}

fn report(counts: &str, found: &[String]) -> String {
    let lines = found.iter().map(|line| format!("{line}\n")).collect::<String>();
    format!("{counts}{lines}{} violations", found.len())
}

/// Returns a line about holds that were never valid, if they are so many that the checks say little.
fn invalid(summary: &Summary) -> Option<String> {
    let (never, all) = (summary.never_valid, summary.holds.values().sum::<u64>());
    (never > FEW + all / 50).then(|| format!("Invalid: {never} of {all} holds were never valid"))
}

/// Returns a line for each kind of fault that could not be injected several times, and never struck.
fn absent(failures: &BTreeMap<String, usize>, summary: &Summary) -> Vec<String> {
    let never_struck =
        |(kind, times): &(&String, &usize)| **times >= SEVERAL && !summary.faults.contains_key(*kind);
    let kinds = failures.iter().filter(never_struck);
    kinds.map(|(kind, _)| format!("Absent: {kind} could never be injected")).collect()
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

/// Returns a line for each process that has held no lock, of which a campaign shows nothing.
fn idle(history: &History, processes: usize) -> Vec<String> {
    let held: BTreeSet<_> = history.holds.iter().map(|hold| hold.call.process.number as usize).collect();
    let idle = (0..processes).filter(|number| !held.contains(number));
    idle.map(|number| format!("Process: {number} has held no lock")).collect()
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
    for record in &history.records {
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

/// The counts of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Summary {
    calls: u64,
    /// The number of holds, by the reason of their end.
    holds: BTreeMap<Ending, u64>,
    /// The number of calls without a hold, by the reason.
    gave_up: BTreeMap<&'static str, u64>,
    /// The number of holders that were told of a loss.
    losses_told: u64,
    /// The number of holds that were never valid, as far as the history shows, although no force struck them. Few checks
    /// look at them.
    never_valid: u64,
    /// The number of writes, by their protection and their outcome.
    writes: BTreeMap<(Way, Written), u64>,
    /// The number of starts of work once per period.
    starts: u64,
    /// The number of faults, by their kind.
    faults: BTreeMap<String, u64>,
}

impl Summary {
    /// Counts a history.
    fn of(history: &History) -> Self {
        let mut summary = Self::default();
        for call in history.calls.values() {
            summary.calls += 1;
            if let Some(why) = call.ends.first().and_then(|end| end.gave_up.as_ref()) {
                *summary.gave_up.entry(reason(why)).or_default() += 1;
            }
        }
        history.records.iter().for_each(|record| summary.count(&record.event));
        for hold in &history.holds {
            *summary.holds.entry(hold.ending).or_default() += 1;
            summary.never_valid += u64::from(!hold.was_valid() && hold.ending != Ending::Forced);
        }
        summary
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::ToldLost { .. } => self.losses_told += 1,
            Event::Wrote { way, outcome, .. } => *self.writes.entry((*way, *outcome)).or_default() += 1,
            Event::Started { .. } => self.starts += 1,
            Event::FaultBegan { kind, .. } => *self.faults.entry(kind.clone()).or_default() += 1,
            _ => {}
        }
    }
}

fn reason(why: &Why) -> &'static str {
    match why {
        Why::TimedOut => "timed out",
        Why::Cancelled => "cancelled",
        Why::Error(_) => "failed",
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (holds, never) = (self.holds.values().sum::<u64>(), self.never_valid);
        writeln!(f, "{} calls, {holds} holds: {}", self.calls, listed(&self.holds))?;
        writeln!(f, "calls without a hold: {}", listed(&self.gave_up))?;
        writeln!(f, "{} losses told, {never} holds never valid", self.losses_told)?;
        writeln!(f, "{} starts, writes: {}", self.starts, listed(&self.writes))?;
        writeln!(f, "faults: {}", listed(&self.faults))
    }
}

fn listed<K: fmt::Debug>(counts: &BTreeMap<K, u64>) -> String {
    let counts: Vec<_> = counts.iter().map(|(kind, count)| format!("{kind:?} {count}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
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
    use crate::history::{Kind, Story};

    use super::*;

    #[test]
    fn a_kind_of_fault_that_failed_several_times_and_never_struck_is_absent() {
        let failures = |times| BTreeMap::from([("cut".to_owned(), times)]);
        let mut summary = Summary::default();
        assert_eq!(absent(&failures(SEVERAL), &summary), ["Absent: cut could never be injected"]);
        assert_eq!(absent(&failures(SEVERAL - 1), &summary), [""; 0]);
        summary.faults.insert("cut".to_owned(), 1);
        assert_eq!(absent(&failures(SEVERAL), &summary), [""; 0]);
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
    fn a_history_is_counted() {
        let story = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 1);
        let story = story.writes("1.0/0/0", 18, Way::Fenced, 2, Written::Refused);
        let story =
            story.asks("3.0/0/0", Kind::Mutex, 12).at(40, "3.0/0/0", Event::GaveUp { why: Why::TimedOut });
        let story = story.asks("3.1/0/0", Kind::Mutex, 50).granted_until("3.1/0/0", 51, 3, 60);
        let kind = "cut".to_owned();
        let story = story.campaign(100, Event::FaultBegan { fault: 1, kind });
        let text = Summary::of(&story.campaign(109, Event::FaultEnded { fault: 1 }).history()).to_string();
        assert_eq!(
            text,
            "3 calls, 2 holds: Released 1, LeaseOver 1\ncalls without a hold: \"timed out\" 1\n\
             0 losses told, 0 holds never valid\n0 starts, writes: (Fenced, Refused) 1\nfaults: \"cut\" 1\n"
        );
    }
}
