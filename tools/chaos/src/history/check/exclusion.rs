//! Mutual exclusion of valid holds.

use crate::history::{History, Hold, Kind, Rule, Violation, both, millis};

/// Checks that no two holds of a lock that exclude each other are valid at the same time, and that the permits that are
/// valid at one time are at most those of the semaphore.
///
/// The history shows each hold shorter than it was, by the time between the grant and its record. An overlap of less
/// than that is not seen, and an overlap that is reported took place. A hold ends where the campaign broke its lock by
/// force, so that overlaps after that are not reported.
pub(crate) fn exclusion(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for holds in history.holds_by_lock().values() {
        let mut valid: Vec<&Hold> = Vec::new();
        for hold in holds {
            valid.retain(|other| other.end > hold.granted);
            // A hold whose lease was over before it was recorded was never seen to be valid.
            if hold.was_valid() {
                let overlapping = valid.iter().filter(|other| is_wrong_beside(hold, other));
                violations.extend(overlapping.map(|other| overlap(history, other, hold)));
                violations.extend(too_many_permits(history, &valid, hold));
                valid.push(hold);
            }
        }
    }
    violations
}

/// Permits are counted, because three holds can be too many where no two of them are.
fn is_wrong_beside(hold: &Hold, other: &Hold) -> bool {
    let are_permits = permits(hold).is_some() && permits(other).is_some();
    !are_permits && hold.excludes(other)
}

fn permits(hold: &Hold) -> Option<(u32, u32)> {
    match hold.kind {
        Kind::Permits { n, of } => Some((n, of)),
        _ => None,
    }
}

fn overlap(history: &History, first: &Hold, second: &Hold) -> Violation {
    let length = first.end.min(second.end) - second.granted;
    let (calls, lock) = (both(first.call, second.call), &first.lock);
    let text = format!("{calls} hold {lock} together for {}, from {} on", millis(length), second.granted);
    history.violation(Rule::Exclusion, text, [first.call, second.call])
}

fn too_many_permits(history: &History, valid: &[&Hold], hold: &Hold) -> Option<Violation> {
    let (n, of) = permits(hold)?;
    let others: Vec<_> = valid.iter().filter(|other| permits(other).is_some()).collect();
    let sum = n + others.iter().filter_map(|other| permits(other)).map(|(n, _)| n).sum::<u32>();
    let most = others.iter().filter_map(|other| permits(other)).map(|(_, of)| of).fold(of, u32::max);
    if sum <= most {
        return None;
    }
    let text = format!("{sum} permits of {most} of {} are held at {}", hold.lock, hold.granted);
    Some(history.violation(Rule::Permits, text, others.iter().map(|other| other.call).chain([hold.call])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Process, Story, rules};

    fn found(story: Story) -> Vec<Rule> {
        rules(&exclusion(&story.history()))
    }

    fn story() -> Story {
        Story::default()
    }

    const TWO_OF_THREE: Kind = Kind::Permits { n: 2, of: 3 };
    const ONE_OF_THREE: Kind = Kind::Permits { n: 1, of: 3 };
    const FIRST: Process = Process { number: 1, incarnation: 0 };

    /// A hold that begins at 10 and has a lease until 50.
    fn leased() -> Story {
        story().asks("1.0/0/0", Kind::Mutex, 1).granted_until("1.0/0/0", 10, 1, 50)
    }

    /// Holds with the times of their grants and releases, and the rules that they break.
    #[test]
    fn holds_that_exclude_each_other_may_not_overlap_and_permits_are_counted() {
        use Kind::{Leader, Mutex, Read, Write};
        let readers = [(Read, 10, 30), (Read, 20, 40)];
        let permits = [(ONE_OF_THREE, 10, 30), (ONE_OF_THREE, 15, 40)];
        let and = |two: [_; 2], third| [two[0], two[1], third];
        for (what, holds, broken) in [
            ("one follows the other", &[(Mutex, 10, 20), (Mutex, 20, 30)][..], &[][..]),
            ("a nanosecond is too early", &[(Mutex, 10, 20), (Mutex, 19, 30)], &[Rule::Exclusion]),
            (
                "the order of the records is another one",
                &[(Mutex, 19, 30), (Mutex, 10, 20)],
                &[Rule::Exclusion],
            ),
            (
                "each pair is found",
                &[(Mutex, 10, 90), (Mutex, 20, 30), (Mutex, 40, 50)],
                &[Rule::Exclusion, Rule::Exclusion],
            ),
            ("a reader beside a writer", &[(Write, 10, 30), (Read, 20, 40)], &[Rule::Exclusion]),
            ("a writer beside a reader", &[(Read, 10, 30), (Write, 20, 40)], &[Rule::Exclusion]),
            ("two leaders", &[(Leader, 10, 30), (Leader, 20, 40)], &[Rule::Exclusion]),
            ("a permit beside a mutex", &[(Mutex, 10, 30), (ONE_OF_THREE, 20, 40)], &[Rule::Exclusion]),
            ("a writer behind the last reader", &and(readers, (Write, 40, 50)), &[]),
            ("a writer beside the last reader", &and(readers, (Write, 35, 50)), &[Rule::Exclusion]),
            ("all permits", &and(permits, (ONE_OF_THREE, 20, 30)), &[]),
            ("two permits after the first one", &and(permits, (TWO_OF_THREE, 30, 35)), &[]),
            ("two permits beside both", &and(permits, (TWO_OF_THREE, 29, 35)), &[Rule::Permits]),
            ("twice two permits", &[(TWO_OF_THREE, 10, 30), (TWO_OF_THREE, 15, 40)], &[Rule::Permits]),
        ] {
            let held = holds.iter().zip(1..).fold(story(), |story, ((kind, from, to), nth)| {
                story.holds(&format!("{nth}.0/0/0"), *kind, *from, *to, nth)
            });
            assert_eq!(found(held), broken, "{what}");
        }
        let other_lock = story().holds("1.0/0/0", Mutex, 10, 20, 1).asks_for("2.0/0/0", "b", Mutex, 11);
        assert_eq!(found(other_lock.granted("2.0/0/0", 12, 2)), []);
    }

    #[test]
    fn a_hold_is_valid_until_its_end() {
        let broken = |lock: &str| Event::LockBroken { lock: lock.to_owned(), zxid: 1 };
        let told_at_45 = |event| leased().campaign(30, event).told_lost("1.0/0/0", 45);
        let renewed = || leased().at(40, "1.0/0/0", Event::Renewed { until: 80 });
        let stopped = leased().campaign(20, Event::ProcessStopped { process: FIRST });
        for (end, story, valid_until) in [
            ("its lease ends", leased(), 50),
            ("the latest known end of its lease", renewed(), 80),
            // Such as that of another thread.
            ("a lower figure ends no lease", renewed().at(41, "1.0/0/0", Event::Renewed { until: 60 }), 80),
            ("its holder is told", leased().told_lost("1.0/0/0", 30), 30),
            ("its process is killed", leased().campaign(30, Event::ProcessKilled { process: FIRST }), 30),
            ("the lease of a stopped process ends", stopped.told_lost("1.0/0/0", 90), 50),
            ("the campaign breaks it by force", told_at_45(broken("a")), 30),
            ("another lock is broken", told_at_45(broken("b")), 45),
            ("the campaign ends its session", told_at_45(Event::SessionEnded { process: FIRST }), 30),
        ] {
            let second = |at| found(story.clone().holds("2.0/0/0", Kind::Mutex, at, at + 10, 2));
            assert_eq!(
                (second(valid_until - 1), second(valid_until)),
                (vec![Rule::Exclusion], vec![]),
                "{end}"
            );
        }
        let open = story().asks("1.0/0/0", Kind::Mutex, 1).granted("1.0/0/0", 10, 1);
        assert_eq!(
            found(open.holds("2.0/0/0", Kind::Mutex, 20, 30, 2)),
            [Rule::Exclusion],
            "the history ends"
        );
    }

    #[test]
    fn a_hold_for_one_holder_under_another_node_than_the_deleted_one_stays_valid() {
        let second = |kind, zxid| {
            let broken = Event::LockBroken { lock: "a".to_owned(), zxid };
            let first = story().asks("1.0/0/0", kind, 1).granted_until("1.0/0/0", 10, 1, 50);
            let second = first.campaign(30, broken).holds("2.0/0/0", kind, 30, 40, 2);
            found(second.told_lost("1.0/0/0", 45))
        };
        assert_eq!([second(Kind::Mutex, 1), second(Kind::Write, 9)], [[]; 2]);
        assert_eq!(second(Kind::Mutex, 9), [Rule::Exclusion]);
    }

    #[test]
    fn a_hold_that_is_granted_soon_after_a_force_or_after_its_lease_was_never_valid() {
        let forced = |at| {
            let broken = story().campaign(5, Event::LockBroken { lock: "a".to_owned(), zxid: 1 });
            let first = broken.holds("1.0/0/0", Kind::Mutex, at, at + 20, 1);
            first.holds("2.0/0/0", Kind::Mutex, at + 10, at + 30, 2)
        };
        assert_eq!(found(forced(1_000_000_005)), []);
        assert_eq!(found(forced(1_000_000_006)), [Rule::Exclusion]);
        for force in
            [Event::LockBroken { lock: "a".to_owned(), zxid: 1 }, Event::SessionEnded { process: FIRST }]
        {
            let answered_late = |at| {
                let forced = story().campaign(5, force.clone()).campaign(3_000_000_000, force.clone());
                let first = forced.holds("1.0/0/0", Kind::Mutex, at, at + 20, 1);
                first.holds("2.0/0/0", Kind::Mutex, at + 10, at + 30, 2)
            };
            assert_eq!([found(answered_late(2_000_000_000)), found(answered_late(4_000_000_000))], [[]; 2]);
            assert_eq!(found(answered_late(4_000_000_001)), [Rule::Exclusion]);
        }
        let late = story().asks("1.0/0/0", Kind::Mutex, 1).granted_until("1.0/0/0", 30, 1, 20);
        let late = late.holds("2.0/0/0", Kind::Mutex, 25, 40, 2).told_lost("1.0/0/0", 50);
        assert_eq!(found(late), []);
    }
}
