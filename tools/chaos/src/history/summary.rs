//! The counts of a history, for a report.

use std::collections::BTreeMap;
use std::fmt;

use super::check::longest_wait;
use crate::history::{CallId, Ending, Event, History, Outcome, Way, Why, millis};

/// The counts of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) calls: u64,
    /// The number of holds, by the reason of their end.
    pub(crate) holds: BTreeMap<Ending, u64>,
    /// The number of calls without a hold, by the reason.
    pub(crate) gave_up: BTreeMap<&'static str, u64>,
    /// The number of holders that were told of a loss.
    pub(crate) losses_told: u64,
    /// The number of holds that were never valid, as far as the history shows, although no force struck them. Few checks
    /// look at them.
    pub(crate) never_valid: u64,
    /// The number of writes, by their protection and their outcome.
    pub(crate) writes: BTreeMap<(Way, Outcome), u64>,
    /// The number of starts of work once per period.
    pub(crate) starts: u64,
    /// The number of faults, by their kind.
    pub(crate) faults: BTreeMap<String, u64>,
    /// The call that waited longest, and its wait in nanoseconds.
    pub(crate) longest_wait: Option<(CallId, u64)>,
}

impl Summary {
    /// Counts a history.
    pub(crate) fn of(history: &History) -> Self {
        let longest_wait = longest_wait(history).map(|(call, waited)| (call.id, waited));
        let mut summary = Self { longest_wait, ..Self::default() };
        for call in history.calls() {
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
        writeln!(f, "faults: {}", listed(&self.faults))?;
        if let Some((call, waited)) = self.longest_wait {
            writeln!(f, "longest wait: {} by {call}", millis(waited))?;
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
    use super::*;
    use crate::history::{Kind, Story};

    #[test]
    fn a_history_is_counted() {
        let story = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 1);
        let story = story.writes("1.0/0/0", 18, Way::Fenced, 2, Outcome::Refused);
        let story =
            story.asks("3.0/0/0", Kind::Mutex, 12).at(40, "3.0/0/0", Event::GaveUp { why: Why::TimedOut });
        let story = story.asks("3.1/0/0", Kind::Mutex, 50).granted_until("3.1/0/0", 51, 3, 60);
        let (kind, description) = ("cut".to_owned(), String::new());
        let story = story.campaign(100, Event::FaultBegan { fault: 1, kind, description });
        let text = Summary::of(&story.campaign(109, Event::FaultEnded { fault: 1 }).history()).to_string();
        assert_eq!(
            text,
            "3 calls, 2 holds: Released 1, LeaseOver 1\ncalls without a hold: \"timed out\" 1\n\
             0 losses told, 0 holds never valid\n0 starts, writes: (Fenced, Refused) 1\nfaults: \"cut\" 1\n\
             longest wait: 0.000 ms by 3.0/0/0\n"
        );
    }
}
