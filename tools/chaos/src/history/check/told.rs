//! The time between the end of a hold, as its holder knew it, and the next grant.

use std::collections::BTreeMap;

use super::Bounds;
use super::tokens::class;
use crate::history::{Ending, History, Hold, Kind, Rule, Violation, both, excludes, millis};

/// Checks that each holder that lost its lock was told before the next hold that it excludes was granted, and that no
/// lease is renewed after that grant and [`Bounds::slack`].
///
/// A holder that began to release before the next grant need not be told. If the history has no word of a loss, but
/// the lease ended before the next grant as far as the history knows, the holder is reported as well. A process that was
/// killed cannot be told in time. Neither can one that was stopped at some time between [`Bounds::slack`] before the end
/// of its lease and the next grant, nor the holder of a lock that was broken by force. The second condition is for them
/// too: a holder whose node is deleted has the news before the next answer of the servers.
pub(crate) fn told(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (hold, next) in successions(history) {
        let calls = both(hold.call, next.call);
        // Overlaps are another promise.
        let text = if hold.end <= next.granted && is_told_late(history, hold, next, bounds) {
            let after = millis(next.granted - hold.end);
            format!(
                "{calls}: the second was granted {after} after the first lease ended, and the first was not told"
            )
        } else if let Some(at) = renewed_late(history, hold, next, bounds) {
            let after = millis(at - next.granted);
            format!("{calls}: the first renewed its lease {after} after the second was granted")
        } else {
            continue;
        };
        violations.push(history.violation(Rule::Told, text, [hold.call, next.call]));
    }
    violations
}

fn is_told_late(history: &History, hold: &Hold, next: &Hold, bounds: &Bounds) -> bool {
    let call = &history.calls[&hold.call];
    let known = call.told_lost().next().into_iter().chain(call.release_begun()).min();
    let died = history.life(hold.call.process).killed.is_some_and(|killed| killed <= next.granted);
    // It had the time to be told if it ran before its lease ended.
    let from = hold.end.saturating_sub(bounds.slack);
    let was_stopped = history.life(hold.call.process).stopped_between(from, next.granted) > 0;
    matches!(hold.ending, Ending::ToldLost | Ending::LeaseOver)
        && !died
        && !was_stopped
        && known.is_none_or(|known| known > next.granted)
}

/// Returns the time of the first record that shows that a lease was renewed after the next grant.
fn renewed_late(history: &History, hold: &Hold, next: &Hold, bounds: &Bounds) -> Option<u64> {
    let mut latest: Option<u64> = None;
    for (at, until) in history.calls[&hold.call].leases() {
        let is_renewal = latest.is_some_and(|latest| until > latest.saturating_add(ROUNDING));
        if is_renewal && at > next.granted.saturating_add(bounds.slack) {
            return Some(at);
        }
        latest = latest.max(Some(until));
    }
    None
}

/// The time by which two records of the same end of a lease may differ, in nanoseconds.
const ROUNDING: u64 = 50_000_000;

/// Pairs each hold with the next grant of a hold that it excludes, and that has no older token: the holder of an older one
/// can get to know its grant late, after its session was ended by force.
pub(crate) fn successions(history: &History) -> Vec<(&Hold, &Hold)> {
    let mut pairs = Vec::new();
    for holds in history.holds_by_lock().values() {
        let places = places(holds);
        for (at, hold) in holds.iter().enumerate() {
            // Places of a kind that a hold does not exclude, such as those of other readers, may be many.
            let of_kinds = places.values().filter(|places| excludes(places[0].1.kind, hold.kind));
            let next = of_kinds.filter_map(|places| {
                let later = &places[places.partition_point(|(place, _)| *place <= at)..];
                later.iter().find(|(_, next)| hold.excludes(next) && next.token >= hold.token)
            });
            pairs.extend(next.min_by_key(|(place, _)| *place).map(|(_, next)| (*hold, *next)));
        }
    }
    pairs
}

/// Returns the holds of each kind of place, with their numbers.
fn places<'a>(holds: &[&'a Hold]) -> BTreeMap<Kind, Vec<(usize, &'a Hold)>> {
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for (place, hold) in holds.iter().enumerate() {
        places.entry(class(hold.kind)).or_default().push((place, *hold));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Process, Story, rules};

    const FIRST: &str = "1.0/0/0";
    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    /// A hold with a lease until 50, and another one from 60 on.
    fn lost() -> Story {
        let first = Story::default().asks(FIRST, Kind::Mutex, 1).granted_until(FIRST, 10, 1, 50);
        first.holds("2.0/0/0", Kind::Mutex, 60, 70, 2)
    }

    fn found(story: Story) -> Vec<Rule> {
        rules(&told(&story.history(), &Bounds { slack: 20, ..Bounds::default() }))
    }

    /// The next grant is at 60.
    #[test]
    fn a_holder_is_told_or_begins_to_release_or_dies_before_the_next_grant() {
        let killed = |at| lost().campaign(at, Event::ProcessKilled { process: PROCESS });
        let stopped =
            |at| lost().campaign(at, Event::ProcessStopped { process: PROCESS }).told_lost(FIRST, 65);
        for (story, is_found) in [
            (lost(), true),
            (lost().told_lost(FIRST, 60), false),
            (lost().told_lost(FIRST, 61), true),
            (lost().releases(FIRST, 55), false),
            (lost().releases(FIRST, 61), true),
            (killed(55), false),
            (killed(61), true),
            (stopped(20), false),
            (stopped(62), true),
        ] {
            assert_eq!(found(story.clone()) == [Rule::Told], is_found, "{story:?}");
        }
        // Holds that overlap break another promise.
        let overlap = Story::default().asks(FIRST, Kind::Mutex, 1).granted_until(FIRST, 10, 1, 50);
        assert_eq!(found(overlap.holds("2.0/0/0", Kind::Mutex, 49, 60, 2)), []);
    }

    #[test]
    fn a_lease_that_is_renewed_after_the_next_grant_is_found_also_if_the_lock_was_broken_by_force() {
        let renewed = |at, until| {
            let broken = lost().campaign(30, Event::LockBroken { lock: "a".to_owned(), zxid: 1 });
            broken.at(at, FIRST, Event::Renewed { until }).told_lost(FIRST, 200)
        };
        let later = 51 + ROUNDING;
        assert_eq!(found(renewed(81, later)), [Rule::Told]);
        // It is known a moment later, and the end of the lease is rounded.
        assert_eq!(found(renewed(80, later)), []);
        assert_eq!(found(renewed(81, later - 1)), []);
    }
}
