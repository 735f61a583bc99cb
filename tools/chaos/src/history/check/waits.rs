//! The lengths of waits, and the state at the end.

use super::Bounds;
use crate::history::{Call, History, Rule, Violation, millis};

/// Checks that the campaign has looked for nodes at the end, and that none were left.
pub(crate) fn left(history: &History) -> Option<Violation> {
    let text = match &history.campaign.left {
        None => "the campaign did not look for nodes at the end".to_owned(),
        Some(paths) if paths.is_empty() => return None,
        Some(paths) => format!("{} nodes are left: {}", paths.len(), paths.join(", ")),
    };
    Some(Violation::new(Rule::Left, text, []))
}

/// Checks that each call ends within its bound.
///
/// The time for which the process was stopped, or had no processor, does not count. A call whose process was killed waited
/// until then, and one without an answer waited until the end of the history.
pub(crate) fn waits(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut violations = Vec::new();
    for call in history.calls.values() {
        let waited = waited(history, call);
        if waited > call.within.saturating_add(bounds.slack) {
            let text = format!("{} waited {} of {}", call.id, millis(waited), millis(call.within));
            violations.push(history.violation(Rule::Bound, text, [call.id]));
        }
    }
    violations
}

fn waited(history: &History, call: &Call) -> u64 {
    let life = history.life(call.id.process);
    let until = call.answered().or(life.killed).unwrap_or_else(|| history.end());
    let asked = call.asked;
    until.saturating_sub(asked).saturating_sub(life.still_between(asked, until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Kind, Process, Story, Why, rules};

    #[test]
    fn nodes_that_are_left_are_found_and_so_is_a_campaign_that_did_not_look() {
        let left_with = |paths: &[&str]| {
            let paths = paths.iter().map(|path| (*path).to_owned()).collect();
            Story::default().campaign(1, Event::NodesLeft { paths })
        };
        let found = |story: Story| left(&story.history()).map(|violation| violation.rule);
        assert_eq!(found(left_with(&[])), None);
        assert_eq!(found(left_with(&["/a/lock-1"])), Some(Rule::Left));
        assert_eq!(found(Story::default()), Some(Rule::Left));
    }

    const CALL: &str = "1.0/0/0";
    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    fn asked_within(within: u64) -> Story {
        let (lock, kind) = ("a".to_owned(), Kind::Mutex);
        let asked = Event::Asked { lock, kind, within };
        Story::default().at(10, CALL, asked)
    }

    fn late(story: Story) -> Vec<Rule> {
        rules(&waits(&story.history(), &Bounds { slack: 5, ..Bounds::default() }))
    }

    /// The call is made at 10, may take 20, and has a slack of 5.
    #[test]
    fn a_call_ends_within_its_bound_without_the_time_in_which_its_process_does_not_run() {
        let call = || asked_within(20);
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
            let gives_up = |at| late(story.clone().at(at, CALL, Event::GaveUp { why: Why::TimedOut }));
            let granted = |at| late(story.clone().granted(CALL, at, 1).releases(CALL, 80));
            assert_eq!((gives_up(latest), gives_up(latest + 1)), (vec![], vec![Rule::Bound]), "{story:?}");
            assert_eq!((granted(latest), granted(latest + 1)), (vec![], vec![Rule::Bound]), "{story:?}");
        }
    }

    #[test]
    fn a_call_without_an_answer_waits_until_the_end_or_its_death() {
        assert_eq!(late(asked_within(20).campaign(36, Event::FaultEnded { fault: 0 })), [Rule::Bound]);
        let killed = asked_within(20).campaign(30, Event::ProcessKilled { process: PROCESS });
        assert_eq!(late(killed.campaign(90, Event::FaultEnded { fault: 0 })), []);
    }
}
