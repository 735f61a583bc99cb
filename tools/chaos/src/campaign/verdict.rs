//! The check of a history, and the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use zklock_testkit::history::{self, Bounds, Event, Findings, History, Source, Summary, check, linear};

use super::outcome::{Outcome, Verdict};
use super::report;
use crate::chronicle::Chronicle;
use crate::fleet::Exit;
use crate::gauges::Curves;
use crate::journal::ENDING;
use crate::options::Options;
use crate::schedule::Plan;

/// Checks the history, and prints and stores the report.
pub(super) fn reached(
    chronicle: &Chronicle,
    directory: &Path,
    (options, plan): (&Options, &Plan),
    (failed, curves): (&[Exit], &Curves),
) -> Outcome<Verdict> {
    let history = merged(directory)?;
    let Findings { mut violations, excused } = check::all(&history, &bounds());
    let checked = linear::all(&history, CONFIGURATIONS);
    violations.extend(checked.iter().filter_map(|checked| checked.violation.clone()));
    let summary = Summary::of(&history);
    let mut text = format!("{options:?}\n{summary}");
    text += &report::windows(&checked);
    text += &report::waits(&history);
    text += &report::errors(&history);
    text += &curves.summary();
    writeln!(text, "{} faults could not be injected", chronicle.failures())?;
    text += &report::excused(&excused);
    let idle = idle(&history, options.processes());
    for number in &idle {
        writeln!(text, "Process: {number} has held no lock")?;
    }
    for exit in failed {
        writeln!(text, "Process: {} ended: {}", exit.process, exit.how)?;
    }
    let grown = curves.grown();
    for growth in &grown {
        writeln!(text, "Growth: {growth}")?;
    }
    for violation in &violations {
        writeln!(text, "{violation}")?;
    }
    let (unread, invalid) = (unread(&summary), invalid(&summary));
    text.extend(unread.iter().chain(&invalid).cloned());
    let absent = absent(plan, &summary);
    for kind in &absent {
        writeln!(text, "Absent: {kind} was planned, and could never be injected")?;
    }
    let found = [violations.len(), failed.len(), idle.len(), grown.len(), absent.len()];
    let found = found.iter().sum::<usize>() + unread.iter().chain(&invalid).count();
    writeln!(text, "{found} violations")?;
    fs::write(directory.join("report.txt"), &text)?;
    println!("{}", report::shortened(&text));
    Ok(if found == 0 { Verdict::Kept } else { Verdict::Broken })
}

/// Checks a history again, and prints what is in it and what it violates.
pub(super) fn again(directory: &Path) -> Outcome<Verdict> {
    let history = merged(directory)?;
    let Findings { mut violations, excused } = check::all(&history, &bounds());
    violations
        .extend(linear::all(&history, CONFIGURATIONS).into_iter().filter_map(|checked| checked.violation));
    let summary = Summary::of(&history);
    print!("{summary}{}", report::excused(&excused));
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

/// Returns the kinds of faults that were planned several times, and that never struck.
fn absent(plan: &Plan, summary: &Summary) -> Vec<String> {
    let mut planned = BTreeMap::<String, usize>::new();
    for fault in plan.schedule() {
        *planned.entry(fault.fault.kind().name()).or_default() += 1;
    }
    let is_absent = |(kind, times): &(String, usize)| *times >= SEVERAL && !summary.faults.contains_key(kind);
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

fn bounds() -> Bounds {
    let slack = u64::try_from(SLACK.as_nanos()).unwrap_or(u64::MAX);
    Bounds { slack, ..Bounds::default() }
}

/// The most configurations that are looked at for the end of one operation.
const CONFIGURATIONS: usize = 10_000;
/// The number of holds that a process without a processor gets too late.
const FEW: u64 = 10;
/// The number of faults of one kind that do not all fail by chance.
const SEVERAL: usize = 3;
/// The time by which a busy machine may be late.
const SLACK: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use zklock_testkit::history::Ending;

    use crate::schedule::Kind;

    use super::*;

    #[test]
    fn a_kind_of_fault_that_was_planned_several_times_and_never_struck_is_absent() {
        let (length, kinds) = (Duration::from_secs(60), vec![Kind::Cut]);
        let plan = Plan { seed: 1, length, servers: 3, processes: 8, kinds };
        let mut summary = Summary::default();
        assert_eq!(absent(&plan, &summary), ["cut"]);
        summary.faults.insert("cut".to_owned(), 1);
        assert_eq!(absent(&plan, &summary), [""; 0]);
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
