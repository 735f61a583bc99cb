//! Locks that nobody holds although calls wait for them.

use std::collections::BTreeMap;

use super::super::call::Call;
use super::super::event::Kind;
use super::super::hold::{Hold, excludes};
use super::super::merged::History;
use super::super::violation::{Findings, Rule, Verdict, Violation, life, millis};
use super::bounds::Bounds;
use super::explanations::Explanations;
use super::tokens::class;

/// Checks that no place in a lock stays free while calls wait for it in vain, as it does behind a node that nobody
/// withdraws.
///
/// A place may be free for [`Bounds::recovery`], because the sessions of holders expire late, and processes do not reach
/// the servers. After that, the first calls that wait for their whole bound show that it cannot be taken. Calls during
/// which one hold kept the place, and calls whose process was stopped meanwhile, or had no processor, do not count. Each
/// number of permits is a place of its own, and so are those to read: one that is left behind does not free the others.
///
/// A call that fails waits in vain, too. Calls that the servers or Curator explain are excused.
pub fn vacancy(history: &History, bounds: &Bounds) -> Findings {
    let (holds, explanations) = (history.holds_by_lock(), Explanations::of(history, bounds));
    let mut vain = BTreeMap::<(&str, Kind), Vec<(&Call, u64)>>::new();
    for call in history.calls() {
        if let Some(until) = waited_in_vain(history, call) {
            vain.entry((&call.asked.lock, class(call.asked.kind))).or_default().push((call, until));
        }
    }
    let mut findings = Findings::default();
    for ((lock, kind), calls) in vain {
        let holds = holds.get(lock).map_or(&[][..], Vec::as_slice);
        let of_kind: Vec<_> = holds.iter().copied().filter(|hold| class(hold.kind) == kind).collect();
        for (from, to) in gaps(&of_kind, history.end()) {
            let late = from.saturating_add(bounds.recovery);
            if to < late {
                continue;
            }
            let inside = |(call, until): &&(&Call, u64)| {
                call.asked.at >= late && *until <= to && !is_kept(holds, call, *until)
            };
            let (excused, mut shown): (Vec<&(&Call, u64)>, Vec<_>) =
                calls.iter().filter(inside).partition(|(call, until)| explanations.explain(call, *until));
            let verdict = match (shown.len() >= CALLS, excused.len() + shown.len() >= CALLS) {
                (true, _) => Verdict::Broken,
                (false, true) => Verdict::Excused,
                (false, false) => continue,
            };
            shown.extend(excused);
            shown.truncate(CALLS);
            let (after, kind) = (millis(to - from), shown[0].0.asked.kind);
            let text = format!("nobody holds {lock} as {kind:?} for {after} while calls wait in vain");
            let records = shown.into_iter().flat_map(|(call, _)| life(&call.records));
            findings.add(Violation::new(Rule::Vacant, text, records), verdict);
        }
    }
    findings
}

/// The number of calls that show that a lock cannot be taken.
const CALLS: usize = 3;

/// Returns the time at which a call had waited for its whole bound, or had failed.
fn waited_in_vain(history: &History, call: &Call) -> Option<u64> {
    let until = call.in_vain()?;
    (history.life(call.id.process).still_between(call.asked.at, until) == 0).then_some(until)
}

/// Returns whether one hold that excludes a call was valid as long as the call waited.
fn is_kept(holds: &[&Hold], call: &Call, until: u64) -> bool {
    let begun = holds.partition_point(|hold| hold.granted <= call.asked.at);
    holds[..begun].iter().any(|hold| hold.end >= until && excludes(hold.kind, call.asked.kind))
}

/// Returns the times in which there is no hold.
fn gaps(holds: &[&Hold], end: u64) -> Vec<(u64, u64)> {
    let (mut gaps, mut free_since) = (Vec::new(), 0);
    for hold in holds {
        if hold.granted > free_since {
            gaps.push((free_since, hold.granted));
        }
        free_since = free_since.max(hold.end);
    }
    gaps.push((free_since, end.max(free_since)));
    gaps
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Library, Why};
    use super::super::super::source::Process;
    use super::super::super::story::{Story, rules};
    use super::*;

    const FIRST: &str = "1.0/0/0";

    fn in_vain(story: Story, calls: std::ops::Range<u64>, from: u64) -> Story {
        in_vain_as(Kind::Mutex, story, calls, from)
    }

    fn in_vain_as(kind: Kind, story: Story, calls: std::ops::Range<u64>, from: u64) -> Story {
        calls.fold(story, |story, nth| {
            let (call, at) = (format!("2.0/0/{nth}"), from + 10 * nth);
            story.asks(&call, kind, at).at(at + 9, &call, Event::GaveUp { why: Why::TimedOut })
        })
    }

    /// Holds of 10 that follow each other.
    fn busy(kind: Kind) -> Story {
        (1..20).fold(Story::default(), |story, nth| {
            story.holds(&format!("1.0/0/{nth}"), kind, 10 * nth, 10 * nth + 9, nth)
        })
    }

    #[test]
    fn places_of_one_kind_that_stay_free_while_others_are_taken_are_stuck() {
        let permits = |n| Kind::Permits { n, of: 3 };
        for (taken, wanted) in [(Kind::Read, Kind::Write), (permits(1), permits(2)), (permits(1), permits(3))]
        {
            assert_eq!(found(in_vain_as(wanted, busy(taken), 0..3, 55)), [Rule::Vacant], "{wanted:?}");
        }
        assert_eq!(found(in_vain_as(Kind::Read, busy(Kind::Read), 0..3, 55)), []);
        let long = Story::default().holds(FIRST, Kind::Read, 10, 200, 1);
        assert_eq!(found(in_vain_as(Kind::Write, long, 0..3, 55)), [], "one reader stays");
        let beside = Story::default().holds(FIRST, permits(1), 10, 200, 1);
        assert_eq!(found(in_vain_as(permits(1), beside, 0..3, 255)), [Rule::Vacant]);
    }

    fn found(story: Story) -> Vec<Rule> {
        let findings = vacancy(&story.history(), &Bounds { recovery: 50, ..Bounds::default() });
        assert_eq!(findings.excused, []);
        rules(&findings.violations)
    }

    #[test]
    fn calls_are_excused_if_the_servers_differ_about_the_queue_meanwhile_or_shortly_before() {
        let differ = |lock: &str| {
            let [node, has, lacks] = ["/q/n", "a", "b"].map(str::to_owned);
            Event::ServersDiffer { lock: lock.to_owned(), node, has, lacks }
        };
        let found = |calls, lock, times: &[u64]| {
            let story = in_vain(Story::default().holds(FIRST, Kind::Mutex, 10, 20, 1), 0..calls, 70);
            let story = times.iter().fold(story, |story, at| story.campaign(*at, differ(lock)));
            let findings = vacancy(&story.history(), &Bounds { recovery: 50, ..Bounds::default() });
            (findings.violations.len(), findings.excused.len())
        };
        assert_eq!([found(3, "a", &[70]), found(3, "a", &[21]), found(3, "a", &[99])], [(0, 1); 3]);
        assert_eq!([found(3, "b", &[70]), found(3, "a", &[20]), found(4, "a", &[21])], [(1, 0); 3]);
        assert_eq!(found(2, "a", &[70]), (0, 0));
    }

    #[test]
    fn calls_are_excused_if_a_node_of_curator_stands_in_the_queue_meanwhile() {
        let found = |library, lock: &str, nodes: &[(u64, &str)]| {
            let story = in_vain(Story::default().holds(FIRST, Kind::Mutex, 10, 20, 1), 0..3, 70);
            let story = nodes.iter().fold(story, |story, (at, node)| {
                let (lock, node) = (lock.to_owned(), (*node).to_owned());
                story.campaign(*at, Event::NodeStands { lock, node, library })
            });
            let findings = vacancy(&story.history(), &Bounds { recovery: 50, ..Bounds::default() });
            (findings.violations.len(), findings.excused.len())
        };
        let (broken, excused) = ((1, 0), (0, 1));
        assert_eq!(found(Library::Curator, "a", &[(85, "/q/n")]), excused, "too few calls are left");
        assert_eq!(found(Library::Curator, "a", &[(60, "/q/n"), (110, "/q/n")]), excused);
        assert_eq!(found(Library::Curator, "a", &[(69, "/q/n"), (100, "/q/m")]), broken, "two nodes");
        assert_eq!(found(Library::Curator, "b", &[(60, "/q/n"), (110, "/q/n")]), broken, "another lock");
        assert_eq!(found(Library::Zklock, "a", &[(60, "/q/n"), (110, "/q/n")]), broken);
    }

    #[test]
    fn calls_are_excused_while_servers_that_stop_may_keep_the_session_of_a_dead_process_that_used_the_lock() {
        let dies_under = |lock: &str, faults: &[(&str, u64, Option<u64>)]| {
            let killed = Event::ProcessKilled { process: "1.0".parse().unwrap() };
            let granted = Event::Granted { token: None, until: None };
            let story = Story::default().asks_for(FIRST, lock, Kind::Mutex, 5).at(10, FIRST, granted);
            let story = faults.iter().zip(0..).fold(story.campaign(20, killed), |story, (fault, number)| {
                let (kind, began, ended) = (fault.0.to_owned(), fault.1, fault.2);
                let begins = Event::FaultBegan { fault: number, kind, description: String::new() };
                let story = story.campaign(began, begins);
                match ended {
                    Some(at) => story.campaign(at, Event::FaultEnded { fault: number }),
                    None => story,
                }
            });
            let story = in_vain(story, 0..3, 70);
            let bounds = Bounds { recovery: 50, expiry: 30, slack: 0, ..Bounds::default() };
            let findings = vacancy(&story.history(), &bounds);
            (findings.violations.len(), findings.excused.len())
        };
        let (broken, excused) = ((1, 0), (0, 1));
        let dies = |faults: &[(&str, u64, Option<u64>)]| dies_under("a", faults);
        assert_eq!(dies(&[]), broken);
        assert_eq!(dies(&[("kill-leader", 30, Some(61))]), excused);
        assert_eq!(dies(&[("rolling-restart", 30, None)]), excused);
        assert_eq!(dies(&[("kill-server", 40, Some(45)), ("kill-leader", 49, Some(69))]), excused);
        assert_eq!(dies(&[("kill-server", 40, Some(45)), ("kill-leader", 75, Some(80))]), (0, 1));
        assert_eq!(dies(&[("kill-leader", 30, Some(40))]), broken, "it has ended before the first call");
        assert_eq!(dies(&[("kill-leader", 50, Some(80))]), broken, "it has ended before the servers stop");
        assert_eq!(dies(&[("cut", 30, Some(61))]), broken, "no server stops");
        assert_eq!(dies_under("b", &[("kill-leader", 30, Some(61))]), broken, "it used another lock");
    }

    #[test]
    fn a_lock_at_which_all_calls_fail_is_stuck() {
        let failed = |calls: u64| {
            let released = Story::default().holds(FIRST, Kind::Mutex, 10, 20, 1);
            (0..calls).fold(released, |story, nth| {
                let (call, at) = (format!("2.0/0/{nth}"), 70 + nth);
                let why = Why::Error("it is broken".to_owned());
                story.asks(&call, Kind::Mutex, at).at(at, &call, Event::GaveUp { why })
            })
        };
        assert_eq!(found(failed(3)), [Rule::Vacant]);
        assert_eq!(found(failed(2)), []);
    }

    #[test]
    fn a_lock_that_stays_free_while_calls_wait_in_vain_is_stuck() {
        let released = || Story::default().holds(FIRST, Kind::Mutex, 10, 20, 1);
        assert_eq!(found(in_vain(released(), 0..3, 70)), [Rule::Vacant]);
        assert_eq!(found(in_vain(released(), 0..2, 70)), []);
        assert_eq!(found(in_vain(released(), 0..3, 69)), [], "the first is within the time for recovery");
    }

    #[test]
    fn a_lock_that_was_never_held_is_stuck() {
        assert_eq!(found(in_vain(Story::default(), 0..3, 50)), [Rule::Vacant]);
    }

    #[test]
    fn calls_that_wait_for_a_long_hold_are_no_sign() {
        let held = Story::default().holds(FIRST, Kind::Mutex, 10, 200, 1);
        assert_eq!(found(in_vain(held, 0..3, 70)), []);
    }

    #[test]
    fn calls_that_give_up_by_themselves_or_stand_still_are_no_sign() {
        let cancelled = (0..3).fold(Story::default(), |story, nth| {
            let call = format!("2.0/0/{nth}");
            story.asks(&call, Kind::Mutex, 60).at(90, &call, Event::GaveUp { why: Why::Cancelled })
        });
        assert_eq!(found(cancelled), []);
        let process = Process { number: 2, incarnation: 0 };
        let stopped = in_vain(Story::default(), 0..3, 60)
            .campaign(55, Event::ProcessStopped { process })
            .campaign(95, Event::ProcessContinued { process });
        assert_eq!(found(stopped), []);
    }
}
