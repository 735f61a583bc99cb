//! The order of fencing tokens.

use std::collections::BTreeMap;

use crate::history::{History, Hold, Kind, Rule, Token, Violation, both};

/// Checks that a hold has a greater token than each earlier one that it excludes, and that no two holds of a lock have
/// the same token.
///
/// A hold is earlier if it was no more valid when the other one was granted. Readers, and permits that can be held
/// together, have no order among themselves. Holds that were never valid are left out.
pub(crate) fn tokens(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for holds in history.holds_by_lock().values() {
        let is_meant = |hold: &&Hold| hold.was_valid();
        let holds: Vec<_> = holds.iter().copied().filter(is_meant).collect();
        violations.extend(shared(&holds).into_iter().map(|(one, other, token)| {
            let text = format!("{} have the token {token} of {}", both(one.call, other.call), one.lock);
            history.violation(Rule::Tokens, text, [one.call, other.call])
        }));
        violations.extend(falling(&holds).into_iter().map(|(one, other)| {
            let (calls, lock) = (both(one.call, other.call), &one.lock);
            let text = format!("{calls} hold {lock} in this order, and the later token is not greater");
            history.violation(Rule::Tokens, text, [one.call, other.call])
        }));
    }
    violations
}

/// Finds holds with the token of an earlier one.
fn shared<'a>(holds: &[&'a Hold]) -> Vec<(&'a Hold, &'a Hold, Token)> {
    let (mut seen, mut found) = (BTreeMap::<Token, &Hold>::new(), Vec::new());
    for hold in holds {
        match seen.get(&hold.token) {
            Some(first) => found.push((*first, *hold, hold.token)),
            None => drop(seen.insert(hold.token, hold)),
        }
    }
    found
}

/// Finds holds with a smaller token than an earlier hold that they exclude.
fn falling<'a>(holds: &[&'a Hold]) -> Vec<(&'a Hold, &'a Hold)> {
    let mut by_end = holds.to_vec();
    by_end.sort_by_key(|hold| hold.end);
    let mut ended = by_end.into_iter().peekable();
    // The holds with the greatest tokens of all that have ended, by their kind.
    let (mut greatest, mut found) = (BTreeMap::<Kind, &Hold>::new(), Vec::new());
    for hold in holds {
        while let Some(before) =
            ended.next_if(|before| before.end <= hold.granted && before.call != hold.call)
        {
            let kind = greatest.entry(class(before.kind)).or_insert(before);
            if kind.token < before.token {
                *kind = before;
            }
        }
        let above = greatest.values().filter(|before| before.token > hold.token && before.excludes(hold));
        found.extend(above.map(|before| (*before, *hold)));
    }
    found
}

/// Returns the same kind for all places that exclude the same others.
pub(crate) fn class(kind: Kind) -> Kind {
    match kind {
        Kind::Read | Kind::Permits { .. } => kind,
        _ => Kind::Mutex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Story, excludes, rules};

    fn found(story: Story) -> Vec<Rule> {
        rules(&tokens(&story.history()))
    }

    /// Holds that follow each other, each with its kind and its token, and the number of violations.
    #[test]
    fn tokens_rise_from_hold_to_hold_if_the_holds_exclude_each_other() {
        use Kind::{Mutex, Read, Write};
        let one_of = |of| Kind::Permits { n: 1, of };
        for (holds, violations) in [
            (&[(Mutex, 5), (Mutex, 6)][..], 0),
            (&[(Mutex, 5), (Mutex, 4)], 1),
            (&[(Mutex, 5), (Mutex, 5)], 1),
            (&[(Mutex, 5), (Mutex, 2), (Mutex, 3)], 2),
            // Readers have no order among themselves, but one to writers.
            (&[(Read, 5), (Read, 4), (Write, 6)], 0),
            (&[(Read, 4), (Read, 4), (Write, 6)], 1),
            (&[(Read, 6), (Read, 4), (Write, 5)], 1),
            // Permits are compared if there are not enough for both.
            (&[(one_of(2), 5), (one_of(2), 4)], 0),
            (&[(one_of(1), 5), (one_of(1), 4)], 1),
            (&[(one_of(2), 5), (one_of(2), 5)], 1),
        ] {
            let story = holds.iter().zip(1..).fold(Story::default(), |story, ((kind, token), nth)| {
                story.holds(&format!("{nth}.0/0/0"), *kind, 10 * nth, 10 * nth + 10, *token)
            });
            assert_eq!(found(story), vec![Rule::Tokens; violations], "{holds:?}");
        }
    }

    #[test]
    fn other_locks_may_have_any_token() {
        let first = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 5);
        let other = first.asks_for("2.0/0/0", "b", Kind::Mutex, 30).granted("2.0/0/0", 31, 1);
        assert_eq!(found(other), []);
    }

    #[test]
    fn a_hold_that_was_never_valid_may_have_any_token() {
        let broken = Event::LockBroken { lock: "a".to_owned(), zxid: 6 };
        let story = Story::default().campaign(5, broken).holds("2.0/0/0", Kind::Mutex, 8, 50, 6);
        assert_eq!(found(story.holds("1.0/0/0", Kind::Mutex, 10, 40, 5)), []);
    }

    #[test]
    fn kinds_of_one_class_exclude_the_same() {
        let kinds = [Kind::Mutex, Kind::Write, Kind::Read, Kind::Leader];
        for (one, other) in kinds.iter().flat_map(|one| kinds.map(|other| (*one, other))) {
            assert_eq!(excludes(one, other), excludes(class(one), class(other)));
        }
    }
}
