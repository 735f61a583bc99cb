//! The lengths of waits.

use super::super::call::Call;
use super::super::merged::History;
use super::super::violation::{Rule, Violation, millis};
use super::Bounds;

/// Checks that each call ends within its own bound, and that none waits longer than [`Bounds::longest_wait`].
///
/// The time for which the process was stopped, or had no processor, does not count. A call whose process was killed waited
/// until then, and one without an answer waited until the end of the history.
pub(crate) fn waits(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut violations = Vec::new();
    for call in history.calls() {
        let waited = waited(history, call);
        if let Some(within) = call.asked.within.filter(|within| waited > within.saturating_add(bounds.slack))
        {
            let text = format!("{} waited {} of {}", call.id, millis(waited), millis(within));
            violations.push(history.violation(Rule::Bound, text, [call.id]));
        }
        if waited > bounds.longest_wait {
            let text = format!("{} waited {} for {}", call.id, millis(waited), call.asked.lock);
            violations.push(history.violation(Rule::Starved, text, [call.id]));
        }
    }
    violations
}

/// Returns the call that waited longest, and its wait in nanoseconds.
pub(crate) fn longest_wait(history: &History) -> Option<(&Call, u64)> {
    history.calls().map(|call| (call, waited(history, call))).max_by_key(|(_, waited)| *waited)
}

fn waited(history: &History, call: &Call) -> u64 {
    let life = history.life(call.id.process);
    let until = call.answered().or_else(|| life.killed()).unwrap_or_else(|| history.end());
    let asked = call.asked.at;
    until.saturating_sub(asked).saturating_sub(life.still_between(asked, until))
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Kind, Why};
    use super::super::super::source::Process;
    use super::super::super::story::{Story, rules};
    use super::*;

    const BOUNDS: Bounds =
        Bounds { slack: 5, longest_wait: 100, progress: 0, recovery: 0, expiry: 0, clock_ppm: 0 };
    const CALL: &str = "1.0/0/0";
    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    fn asked(within: u64) -> Story {
        let (lock, kind) = ("a".to_owned(), Kind::Mutex);
        let asked = Event::Asked { lock, kind, within: Some(within) };
        Story::default().at(10, CALL, asked)
    }

    fn found(story: Story) -> Vec<Rule> {
        rules(&waits(&story.history(), &BOUNDS))
    }

    /// The call is made at 10, may take 20, and has a slack of 5.
    #[test]
    fn a_call_ends_within_its_bound_without_the_time_in_which_its_process_does_not_run() {
        let call = || asked(20);
        let stalled = || call().at(35, "1.0", Event::Stalled { nanos: 10 });
        let stopped = |story: Story, from, to| {
            let stop = story.campaign(from, Event::ProcessStopped { process: PROCESS });
            stop.campaign(to, Event::ProcessContinued { process: PROCESS })
        };
        for (story, latest) in [
            (call(), 35),
            (stalled(), 45),
            // A stop is a stall, too, and counts once.
            (stopped(stalled(), 25, 35), 45),
            (stopped(call(), 15, 45), 65),
        ] {
            let gives_up = |at| found(story.clone().at(at, CALL, Event::GaveUp { why: Why::TimedOut }));
            let granted = |at| found(story.clone().granted(CALL, at, 1).releases(CALL, 80));
            assert_eq!((gives_up(latest), gives_up(latest + 1)), (vec![], vec![Rule::Bound]), "{story:?}");
            assert_eq!((granted(latest), granted(latest + 1)), (vec![], vec![Rule::Bound]), "{story:?}");
        }
    }

    #[test]
    fn a_call_without_an_answer_waits_until_the_end_or_its_death() {
        assert_eq!(found(asked(20).campaign(36, Event::FaultEnded { fault: 0 })), [Rule::Bound]);
        let killed = asked(20).campaign(30, Event::ProcessKilled { process: PROCESS });
        assert_eq!(found(killed.campaign(90, Event::FaultEnded { fault: 0 })), []);
    }

    #[test]
    fn a_call_that_waits_too_long_is_found_whatever_its_bound() {
        let gives_up = |at| found(asked(1_000).at(at, CALL, Event::GaveUp { why: Why::TimedOut }));
        assert_eq!((gives_up(110), gives_up(111)), (vec![], vec![Rule::Starved]));
        let history = asked(1_000).granted(CALL, 70, 1).history();
        assert_eq!(longest_wait(&history).map(|(call, waited)| (call.id.call, waited)), Some((0, 60)));
    }
}
