//! Holds that belong together: those of a multi-lock, and those of one logical call.

use std::collections::BTreeMap;

use super::super::call::{Call, End};
use super::super::event::Kind;
use super::super::merged::History;
use super::super::source::CallId;
use super::super::violation::{Rule, Violation, both, life};

/// Checks that the members of a multi-lock are granted all or not at all.
///
/// A process that dies may have written a part of its records. The members of a call in it are not compared.
pub fn together(history: &History) -> Vec<Violation> {
    let mut wholes = BTreeMap::<CallId, Vec<&Call>>::new();
    for call in history.calls() {
        if let Kind::Member { of } = call.asked.kind {
            wholes.entry(CallId { call: of, ..call.id }).or_default().push(call);
        }
    }
    let is_in_part = |members: &&Vec<&Call>| {
        let granted = members.iter().any(|call| !call.grants.is_empty());
        granted && members.iter().any(|call| matches!(call.ends.first(), Some(End::GaveUp { .. })))
    };
    let show = |members: &Vec<&Call>| {
        let text = format!("{} has some members of a multi-lock, and gave up others", members[0].id);
        Violation::new(Rule::Members, text, members.iter().flat_map(|call| life(&call.records)))
    };
    wholes.values().filter(is_in_part).map(show).collect()
}

/// Checks that a call that enters again has the token of the outermost call, if both have one, and that it did not
/// begin after an outer holder was told of the loss.
pub fn reentrant(history: &History) -> Vec<Violation> {
    let inner = history.holds().iter().filter(|hold| hold.root != hold.call);
    let mut violations = Vec::new();
    for hold in inner {
        let (Some(outer), Some(call)) = (history.call(hold.root), history.call(hold.call)) else { continue };
        let token = outer.grants.first().and_then(|grant| grant.token);
        let is_other_token = token.is_some() && hold.token.is_some() && token != hold.token;
        let is_late = outer.told_lost.iter().any(|told| *told < hold.asked);
        let calls = both(outer.id, call.id);
        let text = match (outer.grants.is_empty(), is_other_token, is_late) {
            (true, ..) => format!("{calls}: the inner call has the lock, and the outer one does not"),
            (_, true, _) => format!("{calls}: the inner call has another token than the outer one"),
            (.., true) => format!("{calls}: the inner call begins after the outer one was told of the loss"),
            _ => continue,
        };
        let records = [outer, call].into_iter().flat_map(|call| life(&call.records));
        violations.push(Violation::new(Rule::Reentrancy, text, records));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Why};
    use super::super::super::story::{Story, rules};
    use super::*;

    fn member(story: Story, call: &str, lock: &str) -> Story {
        story.asks_for(call, lock, Kind::Member { of: 0 }, 1)
    }

    #[test]
    fn members_are_granted_all_or_not_at_all() {
        let two = || member(member(Story::default(), "1.0/0/0", "a"), "1.0/0/1", "b");
        let gave_up = || Event::GaveUp { why: Why::TimedOut };
        let both = two().granted("1.0/0/0", 5, 1).granted("1.0/0/1", 5, 2);
        let none = two().at(5, "1.0/0/0", gave_up()).at(5, "1.0/0/1", gave_up());
        let part = two().granted("1.0/0/0", 5, 1).at(5, "1.0/0/1", gave_up());
        assert_eq!(together(&both.history()), []);
        assert_eq!(together(&none.history()), []);
        assert_eq!(rules(&together(&part.history())), [Rule::Members]);
        // The calls of another task are another whole.
        let other = member(both_of(two()), "1.0/1/0", "b").at(9, "1.0/1/0", gave_up());
        assert_eq!(together(&other.history()), []);
    }

    fn both_of(story: Story) -> Story {
        story.granted("1.0/0/0", 5, 1).granted("1.0/0/1", 5, 2)
    }

    #[test]
    fn an_inner_hold_has_the_token_of_the_outer_one() {
        let inner = |token| {
            let outer = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 5);
            outer.asks_inside("1.0/0/1", 0, 11).granted("1.0/0/1", 12, token).releases("1.0/0/1", 13)
        };
        assert_eq!(reentrant(&inner(5).history()), []);
        assert_eq!(rules(&reentrant(&inner(6).history())), [Rule::Reentrancy]);
    }

    #[test]
    fn an_inner_hold_needs_an_outer_one_that_is_not_known_to_be_lost() {
        let inner = |told: Option<u64>| {
            let outer = Story::default().asks("1.0/0/0", Kind::Mutex, 1).granted("1.0/0/0", 10, 5);
            let outer = told.into_iter().fold(outer, |story, told| story.told_lost("1.0/0/0", told));
            outer.asks_inside("1.0/0/1", 0, 20).granted("1.0/0/1", 21, 5)
        };
        assert_eq!(reentrant(&inner(None).history()), []);
        assert_eq!(reentrant(&inner(Some(20)).history()), []);
        assert_eq!(rules(&reentrant(&inner(Some(19)).history())), [Rule::Reentrancy]);
        let without = Story::default().asks("1.0/0/0", Kind::Mutex, 1);
        let without = without.asks_inside("1.0/0/1", 0, 20).granted("1.0/0/1", 21, 5);
        assert_eq!(rules(&reentrant(&without.history())), [Rule::Reentrancy]);
    }
}
