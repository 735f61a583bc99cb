//! Processes that get no lock although others do.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::call::{Call, End};
use super::super::event::Library;
use super::super::merged::History;
use super::super::source::Process;
use super::super::violation::{Findings, Rule, Verdict, Violation, life, millis};
use super::bounds::Bounds;
use super::explanations::Explanations;

/// Checks that each process gets locks while others get those that it asks for, as it does not if its client never
/// recovers from a fault.
///
/// A process may be without a grant for [`Bounds::progress`], without the time for which it was stopped or had no
/// processor. After that, calls that wait for their whole bound or fail show that it gets none. Calls that the servers or
/// Curator explain are excused, unless others get the lock during the call, and the servers have not differed. Processes of
/// Curator do not count.
pub fn progress(history: &History, bounds: &Bounds) -> Findings {
    let explanations = Explanations::of(history, bounds);
    let mut processes = BTreeMap::<Process, Vec<&Call>>::new();
    for call in history.calls().filter(|call| call.asked.library == Library::Zklock) {
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
            let is_explained = |call: &&Call| {
                call.in_vain().is_some_and(|until| {
                    match grants_of_others(history, process, &[call], call.asked.at..until) {
                        0 => explanations.explain(call, until),
                        // A node that keeps one call out would keep the others out, too.
                        _ => explanations.is_disputed(call, until),
                    }
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

/// The number of calls in vain that show that a process gets no lock, and of grants that show that others do.
const CALLS: usize = 3;

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

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Kind, Library, Why};
    use super::super::super::story::{Story, rules};
    use super::*;

    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    /// One process holds the lock from 10 on, again and again, and another one waits for it in vain after its own hold.
    fn story(calls: u64) -> Story {
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

    fn found(story: Story) -> Vec<Rule> {
        let findings = progress(&story.history(), &Bounds { progress: 50, ..Bounds::default() });
        assert_eq!(findings.excused, []);
        rules(&findings.violations)
    }

    #[test]
    fn calls_that_the_servers_explain_show_nothing() {
        let found = |times: &[u64]| {
            let differ = |at: u64, story: Story| {
                let [lock, node, has, lacks] = ["a", "/q/n", "a", "b"].map(str::to_owned);
                story.campaign(at, Event::ServersDiffer { lock, node, has, lacks })
            };
            let story = times.iter().fold(story(10), |story, at| differ(*at, story));
            let findings =
                progress(&story.history(), &Bounds { progress: 50, recovery: 1, ..Bounds::default() });
            (findings.violations.len(), findings.excused.len())
        };
        let each_but = |left: usize| (1..=10 - left as u64).map(|nth| 10 * nth + 5).collect::<Vec<_>>();
        assert_eq!([found(&[]), found(&each_but(3)), found(&each_but(2))], [(1, 0), (1, 0), (0, 1)]);
        let behind_curator = |story: Story| {
            let [lock, node] = ["a", "/q/n"].map(str::to_owned);
            let stands = Event::NodeStands { lock, node, library: Library::Curator };
            let story = story.campaign(10, stands.clone()).campaign(200, stands);
            let findings = progress(&story.history(), &Bounds { progress: 50, ..Bounds::default() });
            (findings.violations.len(), findings.excused.len())
        };
        assert_eq!(behind_curator(story(10)), (1, 0), "others get the lock during the calls");
    }

    #[test]
    fn a_process_that_gets_no_lock_while_another_one_does_is_starved() {
        assert_eq!(found(story(10)), [Rule::Starved]);
        assert_eq!(found(story(4)), [], "it is within the bound");
        let last = story(10).holds("1.0/0/90", Kind::Mutex, 52, 53, 99);
        assert_eq!(found(last.holds("1.0/0/91", Kind::Mutex, 102, 103, 100)), []);
    }

    #[test]
    fn a_process_whose_calls_all_fail_is_starved() {
        let failing = (20..40).fold(story(0), |story, nth| {
            let call = format!("1.0/0/{nth}");
            let why = Why::Error("it is broken".to_owned());
            story.asks(&call, Kind::Mutex, 5 * nth).at(5 * nth, &call, Event::GaveUp { why })
        });
        assert_eq!(found(failing), [Rule::Starved]);
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
        assert_eq!(found(alone), []);
        let stopped = story(10)
            .campaign(20, Event::ProcessStopped { process: PROCESS })
            .campaign(90, Event::ProcessContinued { process: PROCESS });
        assert_eq!(found(stopped), []);
    }
}
