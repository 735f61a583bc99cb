//! The counts of a history, for a report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::access::{Outcome, Way};
use super::call::End;
use super::check::{Margin, longest_wait, margins};
use super::event::{Event, Library, Why};
use super::hold::Ending;
use super::merged::History;
use super::source::{CallId, Process, Source};
use super::violation::millis;

/// The counts of a history, and its extremes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The time from the first record to the last, in nanoseconds.
    pub length: u64,
    /// The number of records.
    pub records: u64,
    /// The number of processes that made calls, with each life counted.
    pub processes: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of holds, by the reason of their end.
    pub holds: BTreeMap<Ending, u64>,
    /// The number of calls that gave up: for want of time, for contention, as they were dropped, as their work was not
    /// due, and by errors.
    pub gave_up: BTreeMap<&'static str, u64>,
    /// The number of holders that were told of a loss.
    pub losses_told: u64,
    /// The number of holds whose lease was over, as the history knows it, without a word of a loss. If their processes
    /// did not write each end of the lease, they were valid for longer than the checks assume.
    pub leases_over_in_silence: u64,
    /// The number of holds that were never valid, as far as the history shows, although no force struck them. Few checks
    /// look at them.
    pub never_valid: u64,
    /// The number of reads of resources.
    pub reads: u64,
    /// The number of writes, by their protection and their outcome.
    pub writes: BTreeMap<(Way, Outcome), u64>,
    /// The number of starts of work once per period.
    pub starts: u64,
    /// The number of faults, by their kind.
    pub faults: BTreeMap<String, u64>,
    /// The nodes about which the servers differed.
    pub differences: BTreeSet<String>,
    /// The nodes that stood in a queue for long, each with the library of its process.
    pub standing: BTreeSet<(Library, String)>,
    /// The call that waited longest, and its wait in nanoseconds.
    pub longest_wait: Option<(CallId, u64)>,
    /// The process that had no processor for longest, and the time in nanoseconds.
    pub longest_stall: Option<(Process, u64)>,
    /// The smallest margins, by the reason of the end of the earlier hold.
    pub margins: Vec<Margin>,
    /// The number of records that this version does not know.
    pub unknown: u64,
}

impl Summary {
    /// Counts a history.
    pub fn of(history: &History) -> Self {
        let first = history.records().first().map_or(0, |record| record.at);
        let mut summary = Self {
            length: history.end() - first,
            records: history.records().len() as u64,
            longest_wait: longest_wait(history).map(|(call, waited)| (call.id, waited)),
            margins: margins(history),
            ..Self::default()
        };
        summary.count_calls(history);
        for record in history.records() {
            summary.count(&record.event);
            summary.count_stall(record.by, &record.event);
        }
        for hold in history.holds() {
            *summary.holds.entry(hold.ending).or_default() += 1;
            let told = history.call(hold.call).is_some_and(|call| !call.told_lost.is_empty());
            summary.never_valid += u64::from(!hold.was_valid() && hold.ending != Ending::Forced);
            summary.leases_over_in_silence += u64::from(hold.ending == Ending::LeaseOver && !told);
        }
        summary
    }

    fn count_calls(&mut self, history: &History) {
        let mut last = None;
        for call in history.calls() {
            self.calls += 1;
            self.processes += u64::from(last.replace(call.id.process) != Some(call.id.process));
            if let Some(End::GaveUp { why, .. }) = call.ends.first() {
                *self.gave_up.entry(reason(why)).or_default() += 1;
            }
        }
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::ToldLost { .. } => self.losses_told += 1,
            Event::Read { .. } => self.reads += 1,
            Event::Wrote { way, outcome, .. } => *self.writes.entry((*way, *outcome)).or_default() += 1,
            Event::Started { .. } => self.starts += 1,
            Event::FaultBegan { kind, .. } => *self.faults.entry(kind.clone()).or_default() += 1,
            Event::ServersDiffer { node, .. } => drop(self.differences.insert(node.clone())),
            Event::NodeStands { node, library, .. } => drop(self.standing.insert((*library, node.clone()))),
            Event::Other => self.unknown += 1,
            _ => {}
        }
    }

    fn count_stall(&mut self, by: Source, event: &Event) {
        if let (Source::Process(process), Event::Stalled { nanos }) = (by, event)
            && self.longest_stall.is_none_or(|(_, longest)| longest < *nanos)
        {
            self.longest_stall = Some((process, *nanos));
        }
    }
}

fn reason(why: &Why) -> &'static str {
    match why {
        Why::TimedOut => "timed out",
        Why::Contended => "contended",
        Why::Cancelled => "cancelled",
        Why::NotDue => "not due",
        Why::Error(_) => "failed",
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.length / 1_000_000_000;
        writeln!(f, "{} records of {} processes in {seconds} s", self.records, self.processes)?;
        let holds: u64 = self.holds.values().sum();
        writeln!(f, "{} calls, {holds} holds: {}", self.calls, listed(&self.holds))?;
        writeln!(f, "calls without a hold: {}", listed(&self.gave_up))?;
        let silent = self.leases_over_in_silence;
        let never = self.never_valid;
        writeln!(
            f,
            "{} losses told, {silent} leases over in silence, {never} holds never valid",
            self.losses_told
        )?;
        writeln!(f, "{} reads, {} starts, writes: {}", self.reads, self.starts, listed(&self.writes))?;
        writeln!(f, "faults: {}", listed(&self.faults))?;
        if !self.differences.is_empty() {
            writeln!(f, "the servers differed about {} nodes", self.differences.len())?;
        }
        if !self.standing.is_empty() {
            let of_curator = self.standing.iter().filter(|(library, _)| *library == Library::Curator).count();
            writeln!(f, "{} nodes stood for long, {of_curator} of Curator", self.standing.len())?;
        }
        if let Some((call, waited)) = self.longest_wait {
            writeln!(f, "longest wait: {} by {call}", millis(waited))?;
        }
        if let Some((process, stalled)) = self.longest_stall {
            writeln!(f, "longest stall: {} of {process}", millis(stalled))?;
        }
        for Margin { ending, nanos, pairs, .. } in &self.margins {
            writeln!(f, "smallest margin after {ending:?}: {nanos} ns in {pairs} pairs")?;
        }
        Ok(())
    }
}

fn listed<K: fmt::Debug>(counts: &BTreeMap<K, u64>) -> String {
    let counts: Vec<_> = counts.iter().map(|(kind, count)| format!("{kind:?} {count}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::event::Kind;
    use super::super::story::Story;
    use super::*;

    #[test]
    fn a_history_is_counted() {
        let story = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 1);
        let story = story.holds("2.0/0/0", Kind::Mutex, 25, 30, 2).reads("2.0/0/0", 27, &[1]);
        let story = story.writes("2.0/0/0", 28, Way::Fenced, 2, Outcome::Refused);
        let story =
            story.asks("3.0/0/0", Kind::Mutex, 12).at(40, "3.0/0/0", Event::GaveUp { why: Why::TimedOut });
        let story = story.asks("3.1/0/0", Kind::Mutex, 50).granted_until("3.1/0/0", 51, 3, 60);
        let kind = "cut".to_owned();
        let fault = Event::FaultBegan { fault: 1, kind, description: String::new() };
        let story = story.campaign(100, fault).campaign(109, Event::Other);
        let summary = Summary::of(&story.history());
        assert_eq!((summary.length, summary.records, summary.processes), (100, 16, 4));
        assert_eq!((summary.calls, summary.reads, summary.unknown), (4, 1, 1));
        assert_eq!(summary.holds, BTreeMap::from([(Ending::Released, 2), (Ending::LeaseOver, 1)]));
        assert_eq!(summary.writes, BTreeMap::from([((Way::Fenced, Outcome::Refused), 1)]));
        assert_eq!(summary.gave_up, BTreeMap::from([("timed out", 1)]));
        assert_eq!(summary.faults, BTreeMap::from([("cut".to_owned(), 1)]));
        assert_eq!(
            summary.longest_wait.map(|(call, waited)| (call.to_string(), waited)),
            Some(("3.0/0/0".to_owned(), 28))
        );
        assert_eq!((summary.losses_told, summary.leases_over_in_silence), (0, 1));
        let text = summary.to_string();
        assert!(text.contains("4 calls, 3 holds: Released 2, LeaseOver 1"), "{text}");
        assert!(text.contains("smallest margin after Released: 5 ns in 2 pairs"), "{text}");
    }
}
