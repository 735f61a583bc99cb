//! Locks that nobody holds although calls wait for them, and processes that get no lock although others do.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Bounds;
use super::tokens::class;
use crate::history::{Call, History, Hold, Kind, Process, Rule, Violation, Why, excludes, millis};

/// The number of calls in vain that show that a lock or a process is stuck, and of grants that show that others are not.
pub(crate) const CALLS: usize = 3;

/// Checks that no place in a lock stays free while calls wait for it in vain, as it does behind a node that nobody
/// withdraws.
///
/// A place may be free for [`Bounds::recovery`], because the sessions of holders expire late, and processes do not reach
/// the servers. After that, the first calls that wait for their whole bound, or fail, show that it cannot be taken. Calls
/// do not count during which one hold kept the place, or the node of a dead process or of a lost hold may have. Neither do
/// calls whose process was stopped meanwhile, or had no processor. Each number of permits is a place of its own, and so are
/// those to read: one that is left behind does not free the others.
pub(crate) fn vacancy(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let (holds, left) = (history.holds_by_lock(), left_nodes(history, bounds));
    let begin = history.calls.values().map(|call| call.asked).min().unwrap_or_default();
    let mut vain = BTreeMap::<(&str, Kind), Vec<(&Call, u64)>>::new();
    for (call, until) in history.calls.values().filter_map(|call| Some((call, call.in_vain()?))) {
        let may_be_there = |left: &Range<u64>| left.start <= until && left.end > call.asked;
        if history.life(call.id.process).still_between(call.asked, until) == 0
            && !left.get(&*call.lock).is_some_and(|left| left.iter().any(may_be_there))
        {
            vain.entry((&call.lock, class(call.kind))).or_default().push((call, until));
        }
    }
    let mut violations = Vec::new();
    for ((lock, kind), calls) in vain {
        let holds = holds.get(lock).map_or(&[][..], Vec::as_slice);
        let of_kind: Vec<_> = holds.iter().copied().filter(|hold| class(hold.kind) == kind).collect();
        for (from, to) in gaps(&of_kind, begin, history.end()) {
            let late = from.saturating_add(bounds.recovery);
            let inside = |(call, until): &&(&Call, u64)| {
                call.asked >= late && *until <= to && !is_kept(holds, call, *until)
            };
            let shown: Vec<_> = calls.iter().filter(inside).take(CALLS).collect();
            if shown.len() == CALLS {
                let (after, kind) = (millis(to - from), shown[0].0.kind);
                let text = format!("nobody holds {lock} as {kind:?} for {after} while calls wait in vain");
                let calls = shown.into_iter().map(|(call, _)| call.id);
                violations.push(history.violation(Rule::Vacant, text, calls));
            }
        }
    }
    violations
}

/// Returns whether one hold that excludes a call was valid as long as the call waited.
fn is_kept(holds: &[&Hold], call: &Call, until: u64) -> bool {
    let begun = holds.partition_point(|hold| hold.granted <= call.asked);
    holds[..begun].iter().any(|hold| hold.end >= until && excludes(hold.kind, call.kind))
}

/// Returns the times in which there is no hold.
fn gaps(holds: &[&Hold], begin: u64, end: u64) -> Vec<(u64, u64)> {
    let (mut gaps, mut free_since) = (Vec::new(), begin);
    for hold in holds {
        if hold.granted > free_since {
            gaps.push((free_since, hold.granted));
        }
        free_since = free_since.max(hold.end);
    }
    gaps.push((free_since, end.max(free_since)));
    gaps
}

/// The last end of a call of each process at each lock. `None` if a call has no end.
type Uses<'a> = BTreeMap<(Process, &'a str), Option<u64>>;

fn last_uses(history: &History) -> Uses<'_> {
    let mut uses = Uses::new();
    for call in history.calls.values() {
        let last = uses.entry((call.id.process, &*call.lock)).or_insert(Some(0));
        *last = last.and_then(|last| Some(call.ends().map(|(at, _)| at).max()?.max(last)));
    }
    uses
}

/// Returns the times for which nodes at each lock may be left to the servers: processes that used it were killed, and holders
/// were told of a loss.
fn left_nodes<'a>(history: &'a History, bounds: &Bounds) -> BTreeMap<&'a str, Vec<Range<u64>>> {
    let mut left = BTreeMap::<_, Vec<_>>::new();
    let until_expiry = |since| since..expiry(history, bounds, since);
    for ((process, lock), last) in last_uses(history) {
        let had_a_node = |death: &u64| last.is_none_or(|last| last.saturating_add(bounds.slack) >= *death);
        let killed = history.life(process).killed.filter(had_a_node);
        left.entry(lock).or_default().extend(killed.map(until_expiry));
    }
    for call in history.calls.values() {
        left.entry(&call.lock).or_default().extend(call.told_lost().map(until_expiry));
    }
    left
}

/// Returns the time at which the servers have ended a session that has no client since this time: a new leader gives each
/// session its whole timeout again, so it ends once the servers have not been stopped for [`Bounds::expiry`].
fn expiry(history: &History, bounds: &Bounds, since: u64) -> u64 {
    let mut whole_since = since;
    for stop in history.campaign.faults.iter().filter(|fault| STOPS.contains(&&*fault.kind)) {
        if stop.span.from >= whole_since.saturating_add(bounds.expiry) {
            break;
        }
        whole_since = whole_since.max(stop.span.to.unwrap_or(u64::MAX));
    }
    whole_since.saturating_add(bounds.expiry)
}

/// The kinds of faults that stop servers, and so may make another one lead.
const STOPS: [&str; 5] = ["kill-server", "kill-leader", "rolling-restart", "silent-server", "full-disk"];

/// Checks that each process gets locks while others get those that it asks for, as it does not if its client never
/// recovers from a fault.
///
/// A process may be without a grant for [`Bounds::progress`], without the time for which it was stopped or had no
/// processor. After that, calls that fail, or wait for their whole bound while another process gets their lock, show that
/// it gets none.
pub(crate) fn progress(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut processes = BTreeMap::<Process, Vec<&Call>>::new();
    for call in history.calls.values() {
        processes.entry(call.id.process).or_default().push(call);
    }
    let mut violations = Vec::new();
    for (process, calls) in processes {
        for (from, to) in without_a_grant(&calls) {
            let time = (to - from).saturating_sub(history.life(process).still_between(from, to));
            // There is a time for each grant, and almost all of them are short.
            if time <= bounds.progress {
                continue;
            }
            let is_shown = |call: &&Call| {
                call.asked >= from
                    && call.in_vain().is_some_and(|at| at <= to && was_left_out(history, call, at))
            };
            let vain: Vec<_> = calls.iter().copied().filter(is_shown).collect();
            if vain.len() >= CALLS && grants_of_others(history, &vain, from..to) >= CALLS {
                let text = format!("{process} got no lock for {} while others did", millis(time));
                let calls = vain.into_iter().take(CALLS).map(|call| call.id);
                violations.push(history.violation(Rule::Starved, text, calls));
            }
        }
    }
    violations
}

/// Returns the times between the grants of a process, from its first request to the last end of a call.
fn without_a_grant(calls: &[&Call]) -> Vec<(u64, u64)> {
    let ends = calls.iter().filter_map(|call| call.ends().map(|(at, _)| at).max());
    let mut times: Vec<_> = calls.iter().flat_map(|call| call.grants()).map(|(at, _)| at).collect();
    times.extend(calls.iter().map(|call| call.asked).min());
    times.extend(ends.max());
    times.sort_unstable();
    times.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// A node that keeps a call out would keep the others out, too.
fn was_left_out(history: &History, call: &Call, until: u64) -> bool {
    let failed = call.ends().any(|(_, why)| matches!(why, Some(Why::Error(_))));
    failed || grants_of_others(history, &[call], call.asked..until) > 0
}

/// Returns the number of grants, up to [`CALLS`], by which other processes got some of the locks that these calls of one
/// process asked for.
fn grants_of_others(history: &History, vain: &[&Call], time: Range<u64>) -> usize {
    let locks: BTreeSet<_> = vain.iter().map(|call| &call.lock).collect();
    let process = vain[0].id.process;
    let holds = &history.holds;
    let begun = holds.partition_point(|hold| hold.granted < time.start);
    let within = holds[begun..].iter().take_while(|hold| hold.granted < time.end);
    within.filter(|hold| hold.call.process != process && locks.contains(&hold.lock)).take(CALLS).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Story, rules};

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
            assert_eq!(found(in_vain_as(wanted, busy(taken), 0..3, 65)), [Rule::Vacant], "{wanted:?}");
        }
        assert_eq!(found(in_vain_as(Kind::Read, busy(Kind::Read), 0..3, 65)), []);
        let long = Story::default().holds(FIRST, Kind::Read, 10, 200, 1);
        assert_eq!(found(in_vain_as(Kind::Write, long, 0..3, 65)), [], "one reader stays");
        let beside = Story::default().holds(FIRST, permits(1), 10, 200, 1);
        assert_eq!(found(in_vain_as(permits(1), beside, 0..3, 255)), [Rule::Vacant]);
    }

    fn found(story: Story) -> Vec<Rule> {
        rules(&vacancy(&story.history(), &Bounds { recovery: 50, ..Bounds::default() }))
    }

    #[test]
    fn calls_do_not_count_while_servers_that_stop_may_keep_the_node_of_a_lost_hold() {
        let lost = |is_stopped: bool| {
            let lost = Event::ToldLost { reason: "the session ended".to_owned() };
            let story =
                Story::default().asks(FIRST, Kind::Mutex, 5).granted(FIRST, 10, 1).at(20, FIRST, lost);
            let story = story.campaign(30, Event::FaultBegan { fault: 0, kind: "kill-leader".to_owned() });
            let ended = if is_stopped { 61 } else { 31 };
            let story = story.campaign(ended, Event::FaultEnded { fault: 0 });
            let bounds = Bounds { recovery: 50, expiry: 30, ..Bounds::default() };
            rules(&vacancy(&in_vain(story.at(22, FIRST, Event::Released), 0..3, 75).history(), &bounds))
        };
        assert_eq!((lost(true), lost(false)), (vec![], vec![Rule::Vacant]));
    }

    #[test]
    fn calls_do_not_count_while_servers_that_stop_may_keep_the_session_of_a_dead_process() {
        let dies = |faults: &[(&str, u64, Option<u64>)], last: Option<u64>| {
            let killed = Event::ProcessKilled { process: Process { number: 1, incarnation: 0 } };
            let story = Story::default().asks(FIRST, Kind::Mutex, 5).granted(FIRST, 10, 1);
            let story = match last {
                Some(at) => story.at(at, FIRST, Event::Released),
                None => story,
            };
            let story = faults.iter().zip(0..).fold(story.campaign(20, killed), |story, (fault, number)| {
                let (kind, began, ended) = (fault.0.to_owned(), fault.1, fault.2);
                let begins = Event::FaultBegan { fault: number, kind };
                let story = story.campaign(began, begins);
                match ended {
                    Some(at) => story.campaign(at, Event::FaultEnded { fault: number }),
                    None => story,
                }
            });
            let bounds = Bounds { recovery: 50, expiry: 30, slack: 0, ..Bounds::default() };
            rules(&vacancy(&in_vain(story, 0..3, 70).history(), &bounds))
        };
        assert_eq!(dies(&[], None), [Rule::Vacant]);
        assert_eq!(dies(&[("kill-leader", 30, Some(61))], None), []);
        assert_eq!(dies(&[("rolling-restart", 30, None)], None), []);
        assert_eq!(dies(&[("kill-server", 40, Some(45)), ("kill-leader", 49, Some(69))], None), []);
        assert_eq!(dies(&[("kill-server", 40, Some(45)), ("kill-leader", 75, Some(80))], None), []);
        let ended_before = [("kill-leader", 30, Some(40))];
        assert_eq!(dies(&ended_before, None), [Rule::Vacant], "it has ended before the first call");
        let stop_later = [("kill-leader", 50, Some(80))];
        assert_eq!(dies(&stop_later, None), [Rule::Vacant], "it has ended before the servers stop");
        assert_eq!(dies(&[("cut", 30, Some(61))], None), [Rule::Vacant], "no server stops");
        let killed_leader = [("kill-leader", 30, Some(61))];
        assert_eq!(dies(&killed_leader, Some(15)), [Rule::Vacant], "it had given the lock back");
    }

    #[test]
    fn a_lock_that_is_free_while_calls_end_in_vain_is_stuck() {
        let released = || Story::default().holds(FIRST, Kind::Mutex, 10, 20, 1);
        let each = |why: Why, calls| {
            (0..calls).fold(released(), |story, nth| {
                let (call, at) = (format!("2.0/0/{nth}"), 70 + nth);
                story.asks(&call, Kind::Mutex, at).at(at, &call, Event::GaveUp { why: why.clone() })
            })
        };
        let failed = Why::Error("it is broken".to_owned());
        let process = Process { number: 2, incarnation: 0 };
        let stopped = in_vain(Story::default(), 0..3, 60)
            .campaign(55, Event::ProcessStopped { process })
            .campaign(95, Event::ProcessContinued { process });
        for (what, story, is_found) in [
            ("it was given back", in_vain(released(), 0..3, 70), true),
            ("the calls are too few", in_vain(released(), 0..2, 70), false),
            ("the first one is within the time for recovery", in_vain(released(), 0..3, 69), false),
            ("it was never held", in_vain(Story::default(), 0..8, 50), true),
            ("it was wanted shortly before", in_vain(Story::default(), 0..7, 50), false),
            ("all calls fail", each(failed.clone(), 3), true),
            ("too few calls fail", each(failed, 2), false),
            ("the calls give up by themselves", each(Why::Cancelled, 3), false),
            ("the calls stand still", stopped, false),
            (
                "the calls wait for a long hold",
                in_vain(Story::default().holds(FIRST, Kind::Mutex, 10, 200, 1), 0..3, 70),
                false,
            ),
        ] {
            assert_eq!(found(story) == [Rule::Vacant], is_found, "{what}");
        }
    }

    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    /// One process holds the lock from 10 on, again and again, and another one waits for it in vain after its own hold.
    fn others(calls: u64) -> Story {
        let mut story = Story::default().holds("1.0/0/0", Kind::Mutex, 3, 4, 1);
        for nth in 0..20 {
            story = story.holds(&format!("2.0/0/{nth}"), Kind::Mutex, 10 + 10 * nth, 15 + 10 * nth, nth + 2);
        }
        waits(story, calls)
    }

    /// The first process waits in vain.
    fn waits(story: Story, calls: u64) -> Story {
        (1..=calls).fold(story, |story, nth| {
            let (call, end) = (format!("1.0/0/{nth}"), 10 * nth + 9);
            story.asks(&call, Kind::Mutex, 10 * nth).at(end, &call, Event::GaveUp { why: Why::TimedOut })
        })
    }

    fn starved(story: Story) -> Vec<Rule> {
        rules(&progress(&story.history(), &Bounds { progress: 50, ..Bounds::default() }))
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
        assert_eq!(starved(waits(Story::default(), 10)), []);
        let stopped = others(10)
            .campaign(20, Event::ProcessStopped { process: PROCESS })
            .campaign(90, Event::ProcessContinued { process: PROCESS });
        assert_eq!(starved(stopped), []);
    }
}
