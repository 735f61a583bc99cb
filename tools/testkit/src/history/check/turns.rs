//! The turns of processes at a lock.

use std::collections::BTreeMap;

use super::super::call::Call;
use super::super::event::{Kind, Library};
use super::super::hold::Hold;
use super::super::merged::History;
use super::super::source::Process;
use super::super::violation::{Findings, Rule, Verdict, Violation, life, millis};
use super::bounds::Bounds;

/// Checks that a process passes a mutex on to another process that waits: after [`Bounds::turn_grants`] grants, after
/// the time [`Bounds::turn`], and before it has had two further turns.
///
/// A call counts as waiting [`Bounds::notice`] after its beginning. The third condition is for calls before which no
/// other call of their own process is granted. Findings during a fault, while a process of the two is stopped, and in
/// the time of [`Bounds::recovery`] after that are excused. Only mutexes of zklock are checked: readers and permits have
/// turns of another form, and the members of multi-locks, and terms of leaders, none.
pub fn turns(history: &History, bounds: &Bounds) -> Findings {
    let mut calls = BTreeMap::<_, Vec<&Call>>::new();
    for call in history.calls().filter(|call| has_turns(call.asked.kind, call.asked.library)) {
        calls.entry(call.asked.lock.clone()).or_default().push(call);
    }
    let mut findings = Findings::default();
    for (lock, holds) in history.holds_by_lock() {
        let check = Check { history, bounds, runs: &runs(&holds) };
        for call in calls.get(&lock).into_iter().flatten() {
            check.call(call, &mut findings);
        }
    }
    findings
}

fn has_turns(kind: Kind, library: Library) -> bool {
    kind == Kind::Mutex && library == Library::Zklock
}

/// The grants of one process between those of others.
struct Run<'a> {
    process: Process,
    holds: Vec<&'a Hold>,
}

impl Run<'_> {
    fn last(&self) -> u64 {
        self.holds.last().map_or(0, |hold| hold.granted)
    }
}

fn runs<'a>(holds: &[&'a Hold]) -> Vec<Run<'a>> {
    let holds: Vec<_> = holds.iter().copied().filter(|hold| hold.root == hold.call).collect();
    let runs = holds.chunk_by(|one, other| one.process() == other.process());
    runs.map(|holds| Run { process: holds[0].process(), holds: holds.to_vec() }).collect()
}

struct Check<'a> {
    history: &'a History,
    bounds: &'a Bounds,
    runs: &'a [Run<'a>],
}

impl Check<'_> {
    fn call(&self, call: &Call, findings: &mut Findings) {
        let from = call.asked.at.saturating_add(self.bounds.notice);
        let to = call.answered().unwrap_or_else(|| self.history.end());
        let first = self.runs.partition_point(|run| run.last() < from);
        let during: Vec<_> = self.runs[first..].iter().take_while(|run| run.holds[0].granted < to).collect();
        let mut turns = BTreeMap::<Process, u64>::new();
        for run in &during {
            *turns.entry(run.process).or_default() += 1;
            if run.process != call.id.process {
                self.run(call, run, (from, to), findings);
            }
        }
        // The turn in which the call came, and the one before its own.
        let often = turns.iter().find(|(_, turns)| **turns > 2);
        if let Some((process, turns)) = often.filter(|_| !turns.contains_key(&call.id.process)) {
            let text = format!("{process} had {turns} turns while {} waited", call.id);
            let violation = Violation::new(Rule::Turn, text, life(&call.records));
            findings.add(violation, self.verdict(call, *process, (from, to)));
        }
    }

    /// Checks one run of grants that a call of another process waits for.
    fn run(&self, call: &Call, run: &Run<'_>, (from, to): (u64, u64), findings: &mut Findings) {
        let is_meant = |hold: &&&Hold| has_turns(hold.kind, hold.library);
        let during = run.holds.iter().filter(is_meant).map(|hold| hold.granted);
        let during: Vec<_> = during.filter(|granted| (from..to).contains(granted)).collect();
        let (Some(first), Some(last)) = (during.first(), during.last()) else { return };
        let (grants, length) = (during.len() as u64, last - first);
        if grants > self.bounds.turn_grants || length > self.bounds.turn + self.bounds.slack {
            let length = millis(length);
            let text = format!("{} had {grants} grants in {length} while {} waited", run.process, call.id);
            let violation = Violation::new(Rule::Turn, text, life(&call.records));
            findings.add(violation, self.verdict(call, run.process, (*first, *last)));
        }
    }

    /// Judges a finding of this time about a call and another process.
    fn verdict(&self, call: &Call, by: Process, time: (u64, u64)) -> Verdict {
        let is_calm =
            self.is_calm(time) && [call.id.process, by].iter().all(|it| self.runs_freely(*it, time));
        if is_calm { Verdict::Broken } else { Verdict::Excused }
    }

    /// Tells whether no fault has consequences in this time.
    fn is_calm(&self, (from, to): (u64, u64)) -> bool {
        self.history.campaign().faults.iter().all(|fault| {
            let over = fault.ended.unwrap_or(u64::MAX).saturating_add(self.bounds.recovery);
            over < from || fault.began > to
        })
    }

    fn runs_freely(&self, process: Process, (from, to): (u64, u64)) -> bool {
        let life = self.history.life(process);
        life.stopped_between(from.saturating_sub(self.bounds.recovery), to) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::event::Event;
    use super::super::super::story::{Story, rules};
    use super::*;

    const BOUNDS: Bounds = Bounds {
        slack: 0,
        longest_wait: 1_000,
        progress: 0,
        turn_grants: 4,
        turn: 50,
        notice: 10,
        recovery: 100,
        expiry: 0,
        clock_ppm: 0,
    };

    /// One process has so many holds from 20 on, each this long, and another one asks at a time and waits for them.
    fn story(grants: u64, length: u64, asked: u64) -> Story {
        let holds = (0..grants).fold(Story::default(), |story, call| {
            let granted = 20 + call * length;
            story.holds(&format!("1.0/0/{call}"), Kind::Mutex, granted, granted + length - 1, call)
        });
        let end = 20 + grants * length;
        holds.asks("2.0/0/0", Kind::Mutex, asked).granted("2.0/0/0", end, 99).releases("2.0/0/0", end + 1)
    }

    fn found(story: Story) -> (Vec<Rule>, Vec<Rule>) {
        let findings = turns(&story.history(), &BOUNDS);
        (rules(&findings.violations), rules(&findings.excused))
    }

    #[test]
    fn a_turn_has_so_many_grants_while_another_process_is_known_to_wait() {
        assert_eq!(found(story(4, 5, 10)), (vec![], vec![]));
        assert_eq!(found(story(5, 5, 10)), (vec![Rule::Turn], vec![]));
        // The first grant was not after the notice.
        assert_eq!(found(story(5, 5, 11)), (vec![], vec![]));
    }

    #[test]
    fn a_turn_begins_no_hold_after_its_time() {
        assert_eq!(found(story(3, 25, 10)), (vec![], vec![]));
        assert_eq!(found(story(3, 26, 10)), (vec![Rule::Turn], vec![]));
    }

    #[test]
    fn grants_while_only_calls_of_the_same_process_wait_are_no_turn() {
        let own = story(9, 5, 10).0.into_iter().map(|mut record| {
            record.by = record.by.to_string().replace("2.0/0", "1.0/7").parse().unwrap();
            record
        });
        assert_eq!(found(Story(own.collect())), (vec![], vec![]));
    }

    #[test]
    fn a_fault_excuses_a_turn_until_its_consequences_are_over() {
        let fault = |from, to| {
            let (kind, description) = ("cut".to_owned(), String::new());
            let began = story(5, 5, 10).campaign(from, Event::FaultBegan { fault: 1, kind, description });
            began.campaign(to, Event::FaultEnded { fault: 1 })
        };
        assert_eq!(found(fault(25, 30)), (vec![], vec![Rule::Turn]));
        assert_eq!(found(fault(41, 50)), (vec![Rule::Turn], vec![]));
        let later = Story(fault(0, 1).0.into_iter().map(later).collect());
        assert_eq!(found(later), (vec![Rule::Turn], vec![]));
    }

    /// Moves all but the fault into the time after its consequences.
    fn later(mut record: super::super::super::record::Record) -> super::super::super::record::Record {
        if !matches!(record.event, Event::FaultBegan { .. } | Event::FaultEnded { .. }) {
            record.at += 200;
        }
        record
    }

    #[test]
    fn a_stopped_process_excuses_a_turn() {
        let process = Process { number: 2, incarnation: 0 };
        let stopped = story(5, 5, 10).campaign(15, Event::ProcessStopped { process });
        let stopped = stopped.campaign(22, Event::ProcessContinued { process });
        assert_eq!(found(stopped), (vec![], vec![Rule::Turn]));
    }

    #[test]
    fn a_process_that_has_three_turns_while_another_waits_is_found() {
        let alternate = |turns: u64| {
            let holds = (0..turns).fold(Story::default(), |story, turn| {
                let (granted, token) = (20 + turn * 10, turn * 2);
                let one = story.holds(&format!("1.0/0/{turn}"), Kind::Mutex, granted, granted + 4, token);
                one.holds(&format!("3.0/0/{turn}"), Kind::Mutex, granted + 5, granted + 9, token + 1)
            });
            let end = 20 + turns * 10;
            holds.asks("2.0/0/0", Kind::Mutex, 5).granted("2.0/0/0", end, 99).releases("2.0/0/0", end + 1)
        };
        assert_eq!(found(alternate(2)), (vec![], vec![]));
        assert_eq!(found(alternate(3)), (vec![Rule::Turn], vec![]));
        // A call of the same process that came earlier explains the wait.
        let own = alternate(3).holds("2.0/0/1", Kind::Mutex, 29, 30, 50);
        assert_eq!(found(own), (vec![], vec![]));
    }
}
