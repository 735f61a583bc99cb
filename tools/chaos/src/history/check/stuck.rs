//! Locks that nobody holds although calls wait for them, and processes that get no lock although others do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::super::call::{Call, End};
use super::super::event::Kind;
use super::super::hold::{Hold, excludes};
use super::super::merged::History;
use super::super::source::Process;
use super::super::violation::{Findings, Rule, Verdict, Violation, life, millis};
use super::Bounds;
use super::tokens::class;

/// Checks that places that nobody holds can be taken, and that each process gets locks while others do.
///
/// Calls that may wait for the node of a dead process are excused while servers that stop keep its session.
pub(crate) fn stuck(history: &History, bounds: &Bounds) -> Findings {
    let expiry = Expiry::of(history, bounds);
    let mut findings = vacancy(history, bounds, &expiry);
    let Findings { violations, excused } = progress(history, bounds, &expiry);
    findings.violations.extend(violations);
    findings.excused.extend(excused);
    findings
}

/// The number of calls in vain that show that a lock or a process is stuck, and of grants that show that others are not.
const CALLS: usize = 3;

/// Checks that no place in a lock stays free while calls wait for it in vain, as it does behind a node that nobody
/// withdraws.
///
/// A place may be free for [`Bounds::recovery`], because the sessions of holders expire late, and processes do not reach
/// the servers. After that, the first calls that wait for their whole bound show that it cannot be taken. Calls during
/// which one hold kept the place, and calls whose process was stopped meanwhile, or had no processor, do not count. Each
/// number of permits is a place of its own, and so are those to read: one that is left behind does not free the others.
///
/// A call that fails waits in vain, too.
fn vacancy(history: &History, bounds: &Bounds, expiry: &Expiry<'_>) -> Findings {
    let holds = history.holds_by_lock();
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
                calls.iter().filter(inside).partition(|(call, until)| expiry.explains(call, *until));
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

/// Checks that each process gets locks while others get those that it asks for, as it does not if its client never
/// recovers from a fault.
///
/// A process may be without a grant for [`Bounds::progress`], without the time for which it was stopped or had no
/// processor. After that, calls that wait for their whole bound or fail show that it gets none, those that the servers
/// explain only if others get the lock meanwhile.
fn progress(history: &History, bounds: &Bounds, expiry: &Expiry<'_>) -> Findings {
    let mut processes = BTreeMap::<Process, Vec<&Call>>::new();
    for call in history.calls() {
        processes.entry(call.id.process).or_default().push(call);
    }
    let mut findings = Findings::default();
    for (process, calls) in processes {
        for (from, to) in without_a_grant(&calls) {
            let time = to - from - history.life(process).still_between(from, to).min(to - from);
            // There is a time for each grant, and almost all of them are short.
            if time <= bounds.progress {
                continue;
            }
            let is_within = |call: &&Call| call.asked.at >= from && call.in_vain().is_some_and(|at| at <= to);
            let vain: Vec<_> = calls.iter().copied().filter(is_within).collect();
            if vain.len() < CALLS || grants_of_others(history, process, &vain, from..to) < CALLS {
                continue;
            }
            // A node that keeps one call out would keep the others out, too.
            let is_explained = |call: &&Call| {
                call.in_vain().is_some_and(|until| {
                    grants_of_others(history, process, &[call], call.asked.at..until) == 0
                        && expiry.explains(call, until)
                })
            };
            let (excused, mut shown): (Vec<_>, Vec<_>) = vain.into_iter().partition(is_explained);
            let verdict = if shown.len() >= CALLS { Verdict::Broken } else { Verdict::Excused };
            shown.extend(excused);
            let text = format!("{process} got no lock for {} while others did", millis(time));
            let records = shown.into_iter().take(CALLS).flat_map(|call| life(&call.records));
            findings.add(Violation::new(Rule::Starved, text, records), verdict);
        }
    }
    findings
}

/// Returns the times between the grants of a process, from its first request to the last end of a call.
fn without_a_grant(calls: &[&Call]) -> Vec<(u64, u64)> {
    let ends = calls.iter().filter_map(|call| call.ends.iter().map(End::at).max());
    let mut times: Vec<_> = calls.iter().flat_map(|call| &call.grants).map(|grant| grant.at).collect();
    times.extend(calls.iter().map(|call| call.asked.at).min());
    times.extend(ends.max());
    times.sort_unstable();
    times.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the number of grants, up to [`CALLS`], by which other processes got some of the locks that these calls asked for.
fn grants_of_others(history: &History, process: Process, vain: &[&Call], time: Range<u64>) -> usize {
    let locks: BTreeSet<_> = vain.iter().map(|call| &call.asked.lock).collect();
    let holds = history.holds();
    let begun = holds.partition_point(|hold| hold.granted < time.start);
    let within = holds[begun..].iter().take_while(|hold| hold.granted < time.end);
    within.filter(|hold| hold.process() != process && locks.contains(&hold.lock)).take(CALLS).count()
}

/// The dead processes of a history, and the times for which servers were stopped.
struct Expiry<'a> {
    bounds: &'a Bounds,
    /// The last time at which each process used each lock. It still did at its death if that is `None`.
    used: HashMap<(Process, &'a str), Option<u64>>,
    deaths: Vec<(Process, u64)>,
    /// The times for which servers were stopped, by their beginning.
    stops: Vec<(u64, u64)>,
}

impl<'a> Expiry<'a> {
    fn of(history: &'a History, bounds: &'a Bounds) -> Self {
        let mut used = HashMap::new();
        for call in history.calls() {
            let last = used.entry((call.id.process, &*call.asked.lock)).or_insert(Some(0));
            *last = last.and_then(|last| Some(ended(call)?.max(last)));
        }
        let lives = history.campaign().lives.iter();
        let deaths = lives.filter_map(|(process, life)| Some((*process, life.killed()?))).collect();
        let faults = history.campaign().faults.iter().filter(|fault| STOPS.contains(&&*fault.kind));
        let stops = faults.map(|fault| (fault.began, fault.ended.unwrap_or(u64::MAX))).collect();
        Self { bounds, used, deaths, stops }
    }

    /// Returns whether a call may have waited for the node of a dead process, until this time. A new leader gives each
    /// session its whole timeout again, so the session of a dead process ends once the servers have not been stopped
    /// for [`Bounds::expiry`].
    fn explains(&self, call: &Call, until: u64) -> bool {
        self.deaths.iter().any(|(process, death)| {
            *death <= until
                && self.was_used(*process, &call.asked.lock, *death)
                && !self.could_expire(*death, call.asked.at)
        })
    }

    /// Returns whether a process may have had a node of a lock at its death.
    fn was_used(&self, process: Process, lock: &str, death: u64) -> bool {
        let is_recent =
            |last: &Option<u64>| last.is_none_or(|last| last.saturating_add(self.bounds.slack) >= death);
        self.used.get(&(process, lock)).is_some_and(is_recent)
    }

    /// Returns whether the servers had the time to end a session between these times.
    fn could_expire(&self, from: u64, to: u64) -> bool {
        let mut whole_since = from;
        for (began, ended) in self.stops.iter().filter(|(_, ended)| *ended > from) {
            if *began >= whole_since.saturating_add(self.bounds.expiry) {
                break;
            }
            whole_since = whole_since.max(*ended);
        }
        whole_since.saturating_add(self.bounds.expiry) <= to
    }
}

/// Returns the time of the end of a call, or `None` if it has none.
fn ended(call: &Call) -> Option<u64> {
    call.ends.iter().map(End::at).max()
}

/// The kinds of faults that stop servers, and so may make another one lead.
const STOPS: [&str; 5] = ["kill-server", "kill-leader", "rolling-restart", "silent-server", "full-disk"];

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Why};
    use super::super::super::story::{Story, rules};
    use super::*;

    const FIRST: &str = "1.0/0/0";

    fn in_vain(story: Story, calls: Range<u64>, from: u64) -> Story {
        in_vain_as(Kind::Mutex, story, calls, from)
    }

    fn in_vain_as(kind: Kind, story: Story, calls: Range<u64>, from: u64) -> Story {
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
        let findings = stuck(&story.history(), &Bounds { recovery: 50, ..Bounds::default() });
        assert_eq!(findings.excused, []);
        rules(&findings.violations)
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
            let findings = stuck(&story.history(), &bounds);
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

    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    /// One process holds the lock from 10 on, again and again, and another one waits for it in vain after its own hold.
    fn others(calls: u64) -> Story {
        let mut story = Story::default().holds("1.0/0/0", Kind::Mutex, 3, 4, 1);
        for nth in 0..20 {
            story = story.holds(&format!("2.0/0/{nth}"), Kind::Mutex, 10 + 10 * nth, 15 + 10 * nth, nth + 2);
        }
        (1..=calls).fold(story, |story, nth| {
            let call = format!("1.0/0/{nth}");
            story.asks(&call, Kind::Mutex, 10 * nth).at(
                10 * nth + 9,
                &call,
                Event::GaveUp { why: Why::TimedOut },
            )
        })
    }

    fn starved(story: Story) -> Vec<Rule> {
        let findings = stuck(&story.history(), &Bounds { progress: 50, ..Bounds::default() });
        assert_eq!(findings.excused, []);
        rules(&findings.violations)
    }

    #[test]
    fn a_process_that_gets_no_lock_while_another_one_does_is_starved() {
        assert_eq!(starved(others(10)), [Rule::Starved]);
        assert_eq!(starved(others(4)), [], "it is within the bound");
        let last = others(10).holds("1.0/0/90", Kind::Mutex, 52, 53, 99);
        assert_eq!(starved(last.holds("1.0/0/91", Kind::Mutex, 102, 103, 100)), []);
    }

    #[test]
    fn a_process_whose_calls_all_fail_is_starved() {
        let failing = (20..40).fold(others(0), |story, nth| {
            let call = format!("1.0/0/{nth}");
            let why = Why::Error("it is broken".to_owned());
            story.asks(&call, Kind::Mutex, 5 * nth).at(5 * nth, &call, Event::GaveUp { why })
        });
        assert_eq!(starved(failing), [Rule::Starved]);
    }

    #[test]
    fn a_process_that_waits_as_all_others_do_or_is_stopped_is_not_starved() {
        let alone = (1..=10).fold(Story::default(), |story, nth| {
            let call = format!("1.0/0/{nth}");
            story.asks(&call, Kind::Mutex, 10 * nth).at(
                10 * nth + 9,
                &call,
                Event::GaveUp { why: Why::TimedOut },
            )
        });
        assert_eq!(starved(alone), []);
        let stopped = others(10)
            .campaign(20, Event::ProcessStopped { process: PROCESS })
            .campaign(90, Event::ProcessContinued { process: PROCESS });
        assert_eq!(starved(stopped), []);
    }
}
