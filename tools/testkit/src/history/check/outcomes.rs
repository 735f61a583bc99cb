//! The outcomes of calls, and the state at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::call::{Call, End};
use super::super::merged::History;
use super::super::violation::{Findings, Rule, Verdict, Violation, life};

/// Checks that each call has exactly one outcome, unless its process was killed.
///
/// A call ends by giving up, or by a grant and a release. A holder that was told of its loss needs no release. It is
/// told once at most, and only of a lock that it had. Records without a request are reported as well.
pub fn outcomes(history: &History) -> Vec<Violation> {
    let strays = history.strays().iter().map(|record| {
        let text = format!("{} has a record without a request, or two requests", record.by);
        Violation::new(Rule::Outcome, text, [record.clone()])
    });
    let calls = history.calls().filter_map(|call| {
        let was_killed = history.life(call.id.process).killed().is_some();
        let reason = too_many(call).or_else(|| too_few(call).filter(|_| !was_killed))?;
        Some(Violation::new(Rule::Outcome, format!("{} {reason}", call.id), life(&call.records)))
    });
    strays.chain(calls).collect()
}

fn too_many(call: &Call) -> Option<&'static str> {
    let granted = call.grants.first();
    let gave_up = call.ends.iter().any(|end| matches!(end, End::GaveUp { .. }));
    let before_grant = |at: u64| granted.is_none_or(|grant| at < grant.at);
    match call {
        _ if call.grants.len() > 1 => Some("was granted twice"),
        _ if call.ends.len() > 1 => Some("ended twice"),
        _ if call.told_lost.len() > 1 => Some("was told twice that the lock is lost"),
        _ if granted.is_some() && gave_up => Some("has the lock and gave up"),
        _ if call.told_lost.iter().any(|at| before_grant(*at)) => Some("lost a lock that it did not have"),
        _ if !gave_up && call.ends.iter().any(|end| before_grant(end.at())) => {
            Some("released a lock that it did not have")
        }
        _ => None,
    }
}

fn too_few(call: &Call) -> Option<&'static str> {
    match call {
        _ if !call.ends.is_empty() || !call.told_lost.is_empty() => None,
        _ if call.grants.is_empty() => Some("has no answer"),
        _ => Some("has the lock, and neither released nor lost it"),
    }
}

/// Checks that the campaign has looked for nodes at the end, and that none were left. Nodes of Curator that have stood for
/// long are excused.
pub fn left(history: &History) -> Findings {
    let mut findings = Findings::default();
    let mut add = |text, verdict| findings.add(Violation::new(Rule::Left, text, []), verdict);
    let Some(paths) = &history.campaign().left else {
        add("the campaign did not look for nodes at the end".to_owned(), Verdict::Broken);
        return findings;
    };
    let of_curator: BTreeSet<_> = history.campaign().of_curator.values().flat_map(BTreeMap::keys).collect();
    let (excused, broken): (Vec<_>, Vec<_>) =
        paths.iter().cloned().partition(|path| of_curator.contains(path));
    for (paths, verdict) in [(broken, Verdict::Broken), (excused, Verdict::Excused)] {
        if !paths.is_empty() {
            add(format!("{} nodes are left: {}", paths.len(), paths.join(", ")), verdict);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Kind, Library, Why};
    use super::super::super::source::Process;
    use super::super::super::story::{Story, rules};
    use super::*;

    const CALL: &str = "1.0/0/0";

    fn asked() -> Story {
        Story::default().asks(CALL, Kind::Mutex, 1)
    }

    fn gave_up() -> Event {
        Event::GaveUp { why: Why::TimedOut }
    }

    #[test]
    fn a_call_with_one_outcome_passes() {
        let failed = Event::ReleaseFailed { text: String::new() };
        let stories = [
            asked().at(2, CALL, gave_up()),
            asked().granted(CALL, 2, 1).releases(CALL, 3),
            asked().granted(CALL, 2, 1).at(3, CALL, Event::ReleaseBegun).at(4, CALL, failed),
            asked().granted(CALL, 2, 1).told_lost(CALL, 3),
            asked().granted(CALL, 2, 1).told_lost(CALL, 3).releases(CALL, 4),
        ];
        stories.into_iter().for_each(|story| assert_eq!(outcomes(&story.history()), []));
    }

    #[test]
    fn a_call_with_no_outcome_or_two_is_found() {
        let stories = [
            asked(),
            asked().granted(CALL, 2, 1),
            asked().granted(CALL, 2, 1).at(3, CALL, Event::ReleaseBegun),
            asked().granted(CALL, 2, 1).granted(CALL, 3, 1).releases(CALL, 4),
            asked().granted(CALL, 2, 1).at(3, CALL, gave_up()),
            asked().at(2, CALL, gave_up()).at(3, CALL, gave_up()),
            asked().granted(CALL, 2, 1).releases(CALL, 3).releases(CALL, 5),
            asked().granted(CALL, 2, 1).told_lost(CALL, 3).told_lost(CALL, 4),
            asked().releases(CALL, 3),
            asked().told_lost(CALL, 2).at(3, CALL, gave_up()),
            Story::default().granted(CALL, 2, 1),
            asked().asks(CALL, Kind::Mutex, 2).at(3, CALL, gave_up()),
        ];
        for story in stories {
            assert_eq!(rules(&outcomes(&story.clone().history())), [Rule::Outcome], "{story:?}");
        }
    }

    #[test]
    fn a_killed_process_owes_no_outcome_but_may_not_have_two() {
        let killed = |story: Story| {
            let process = Process { number: 1, incarnation: 0 };
            story.campaign(9, Event::ProcessKilled { process }).history()
        };
        assert_eq!(outcomes(&killed(asked())), []);
        assert_eq!(outcomes(&killed(asked().granted(CALL, 2, 1))), []);
        let twice = asked().granted(CALL, 2, 1).at(3, CALL, gave_up());
        assert_eq!(rules(&outcomes(&killed(twice))), [Rule::Outcome]);
    }

    #[test]
    fn nodes_that_are_left_are_found_and_so_is_a_campaign_that_did_not_look() {
        let found = |story: Story| {
            let Findings { violations, excused } = left(&story.history());
            (rules(&violations), rules(&excused))
        };
        let left_with = |paths: &[&str]| {
            let paths = paths.iter().map(|path| (*path).to_owned()).collect();
            Story::default().campaign(1, Event::NodesLeft { paths })
        };
        let stands = Event::NodeStands {
            lock: "a".to_owned(),
            node: "/a/lock-1".to_owned(),
            library: Library::Curator,
        };
        let beside_curator = |paths| found(left_with(paths).campaign(0, stands.clone()));
        assert_eq!(found(left_with(&[])), (vec![], vec![]));
        assert_eq!(found(left_with(&["/a/lock-1"])), (vec![Rule::Left], vec![]));
        assert_eq!(beside_curator(&["/a/lock-1"]), (vec![], vec![Rule::Left]));
        assert_eq!(beside_curator(&["/a/lock-1", "/a/lock-2"]), (vec![Rule::Left], vec![Rule::Left]));
        assert_eq!(found(Story::default()), (vec![Rule::Left], vec![]));
    }
}
