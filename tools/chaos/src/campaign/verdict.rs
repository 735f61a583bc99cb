//! The check of a history, its counts, and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use super::Outcome;
use crate::history::{self, Bounds, Call, Ending, Event, History, Why, check};
use crate::journal::{Chronicle, ENDING};
use crate::options::Options;

/// Checks the history, and prints and stores the report. Returns whether it finds no violation.
pub(super) fn reached(
    chronicle: &Chronicle,
    directory: &Path,
    options: &Options,
    failed: &[String],
) -> Outcome<bool> {
    let history = merged(directory)?;
    let (summary, mut found) = checked(&history);
    found.extend(idle(&history, options.processes));
    found.extend(failed.iter().map(|exit| format!("Process: {exit}")));
    let failures = chronicle.failures();
    found.extend(absent(&failures, &summary));
    let failures = format!("{} faults could not be injected\n", failures.values().sum::<usize>());
    let text = report(&format!("{options:?}\n{summary}{}{failures}", waits(&history)), &found);
    fs::write(directory.join("report.txt"), &text)?;
    println!("{text}");
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
    let (never, all) = (summary.total(INVALID), summary.total("holds"));
    (never > FEW + all / 50).then(|| format!("Invalid: {never} of {all} holds were never valid"))
}

/// Returns a line for each kind of fault that could not be injected several times, and never struck.
fn absent(failures: &BTreeMap<String, usize>, summary: &Summary) -> Vec<String> {
    let has_struck = |kind: &str| summary.0.get(FAULTS).is_some_and(|faults| faults.contains_key(kind));
    let never_struck = |(kind, times): &(&String, &usize)| **times >= SEVERAL && !has_struck(kind);
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

/// The counts of a history: for each topic, the number of things of each kind.
#[derive(Debug, Default)]
struct Summary(BTreeMap<&'static str, BTreeMap<String, u64>>);

impl Summary {
    fn of(history: &History) -> Self {
        let mut summary = Self::default();
        history.calls.values().for_each(|call| summary.add("calls", outcome(call)));
        for hold in &history.holds {
            summary.add("holds", format!("{:?}", hold.ending));
            // Few checks look at a hold that was never valid. A force may have struck it.
            if !hold.was_valid() && hold.ending != Ending::Forced {
                summary.add(INVALID, "never valid");
            }
        }
        for record in &history.records {
            match &record.event {
                Event::Wrote { way, outcome, .. } => summary.add("writes", format!("{way:?} {outcome:?}")),
                Event::Started { work, .. } => summary.add("starts", work.as_str()),
                Event::FaultBegan { kind, .. } => summary.add(FAULTS, kind.as_str()),
                Event::GaveUp { why: Why::Error(text) }
                | Event::ReleaseFailed { text }
                | Event::ToldLost { reason: text } => summary.add("errors and losses", without_figures(text)),
                _ => {}
            }
        }
        summary
    }

    fn add(&mut self, topic: &'static str, kind: impl Into<String>) {
        *self.0.entry(topic).or_default().entry(kind.into()).or_default() += 1;
    }

    fn total(&self, topic: &str) -> u64 {
        self.0.get(topic).into_iter().flat_map(BTreeMap::values).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (topic, counts) in &self.0 {
            writeln!(f, "{topic}: {}", self.total(topic))?;
            counts.iter().try_for_each(|(kind, count)| writeln!(f, "  {count:>7} {kind}"))?;
        }
        Ok(())
    }
}

fn outcome(call: &Call) -> &'static str {
    match call.ends().next().and_then(|(_, why)| why) {
        Some(Why::TimedOut) => "timed out",
        Some(Why::Cancelled) => "cancelled",
        Some(Why::Error(_)) => "failed",
        None if call.grants().next().is_none() => "without an end",
        None => "held",
    }
}

/// Returns an error without numbers and names of nodes.
fn without_figures(text: &str) -> String {
    let is_figure = |word: &&str| word.chars().any(|c| c.is_ascii_digit());
    let words = text.split(' ').map(|word| if is_figure(&word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ").chars().take(LENGTH).collect()
}

const INVALID: &str = "holds that were never valid";
const FAULTS: &str = "faults";

/// The number of holds that a process without a processor gets too late.
const FEW: u64 = 10;
/// The number of faults of one kind that do not all fail by chance.
const SEVERAL: usize = 3;
/// The greatest length of an error in the report.
const LENGTH: usize = 160;

#[cfg(test)]
mod tests {
    use crate::history::{Kind, Outcome, Story, Way};

    use super::*;

    #[test]
    fn a_kind_of_fault_that_failed_several_times_and_never_struck_is_absent() {
        let failures = |times| BTreeMap::from([("cut".to_owned(), times)]);
        let mut summary = Summary::default();
        assert_eq!(absent(&failures(SEVERAL), &summary), ["Absent: cut could never be injected"]);
        assert_eq!(absent(&failures(SEVERAL - 1), &summary), [""; 0]);
        summary.add(FAULTS, "cut");
        assert_eq!(absent(&failures(SEVERAL), &summary), [""; 0]);
    }

    #[test]
    fn many_holds_that_were_never_valid_fail_the_check() {
        let mut summary = Summary::default();
        (0..1_000).for_each(|_| summary.add("holds", "Released"));
        (0..30).for_each(|_| summary.add(INVALID, "never valid"));
        assert_eq!(invalid(&summary), None);
        summary.add(INVALID, "never valid");
        assert!(invalid(&summary).is_some_and(|line| line.starts_with("Invalid: 31 ")));
    }

    #[test]
    fn a_history_is_counted() {
        let story = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 1);
        let story = story.writes("1.0/0/0", 18, Way::Fenced, 2, Outcome::Refused);
        let why = Why::Error("node 7 is gone".to_owned());
        let story = story.asks("3.0/0/0", Kind::Mutex, 12).at(40, "3.0/0/0", Event::GaveUp { why });
        let story = story.asks("3.1/0/0", Kind::Mutex, 50).granted_until("3.1/0/0", 51, 3, 60);
        let story = story.asks("3.1/0/1", Kind::Mutex, 55).granted_until("3.1/0/1", 71, 3, 70);
        let story = story.campaign(100, Event::FaultBegan { fault: 1, kind: "cut".to_owned() });
        let counted = [
            "calls: 4 | 1 failed | 3 held",
            "errors and losses: 1 | 1 node … is gone",
            "faults: 1 | 1 cut",
            "holds: 3 | 2 LeaseOver | 1 Released",
            "holds that were never valid: 1 | 1 never valid",
            "writes: 1 | 1 Fenced Refused",
        ];
        let text = Summary::of(&story.history()).to_string();
        assert_eq!(
            text.lines().map(str::trim).collect::<Vec<_>>(),
            counted.join(" | ").split(" | ").collect::<Vec<_>>()
        );
    }
}
