//! The state of resources, as holders read it.

use std::cell::LazyCell;

use super::super::access::Way;
use super::super::merged::History;
use super::super::violation::{Findings, Rule, Verdict, Violation};
use super::resources::{Access, Act, Resource, Suspects, resources};
use super::stability::unstable;
use super::updates::lost_updates;

/// Checks that no update of a valid holder is lost, that no valid holder reads a torn state, and that nothing changes
/// under a hold that excludes others, except by its own writes.
///
/// A plain resource takes writes of holders that are not valid any more, and a fenced one does so until it knows the
/// token of the next holder. A finding that such a write of the same value may explain is excused. So is one that a
/// process may explain that was killed while it held the lock, if no record has the value, because it cannot record its
/// last write. Guarded writes are never excused.
///
/// Values must be unique for each resource: two updates of one value are a lost update.
pub fn state(history: &History) -> Findings {
    let mut findings = Findings::default();
    for (name, resource) in resources(history) {
        // They are needed for findings only.
        let suspects = LazyCell::new(|| resource.suspects(history));
        for (violation, verdict) in lost_updates(name, &resource) {
            findings.add(violation, verdict);
        }
        for (violation, verdict) in torn(name, &resource, &|| &suspects) {
            findings.add(violation, verdict);
        }
        for (violation, verdict) in unstable(name, &resource, &|| &suspects) {
            findings.add(violation, verdict);
        }
    }
    findings
}

/// Finds reads of cells that differ.
fn torn<'a>(
    name: &str,
    resource: &Resource<'_>,
    suspects: &dyn Fn() -> &'a Suspects,
) -> Vec<(Violation, Verdict)> {
    // The state is whole after a write under a valid hold.
    let mut whole = 0;
    let mut found = Vec::new();
    for access in &resource.accesses {
        match access.act {
            Act::Write { .. } if access.is_applied() && access.is_covered() => whole = access.began,
            Act::Read(cells) if cells.windows(2).any(|pair| pair[0] != pair[1]) => {
                let text = format!("{} read a torn state of {name}: {cells:?}", access.call);
                let is_excused = !access.is_covered() || is_explained(resource, access, whole, suspects);
                let verdict = if is_excused { Verdict::Excused } else { Verdict::Broken };
                found.push((Violation::new(Rule::TornState, text, [access.record.clone()]), verdict));
            }
            _ => {}
        }
    }
    found
}

fn is_explained<'a>(
    resource: &Resource<'_>,
    access: &Access<'_>,
    from: u64,
    suspects: &dyn Fn() -> &'a Suspects,
) -> bool {
    let Act::Read(cells) = access.act else { return false };
    resource.way != Some(Way::Guarded) && cells.iter().any(|cell| suspects().may_explain(access, from, *cell))
}

#[cfg(test)]
mod tests {
    use super::super::super::access::Outcome;
    use super::super::super::event::{Event, Kind};
    use super::super::super::source::Process;
    use super::super::super::story::{Story, rules};
    use super::*;

    const FIRST: &str = "1.0/0/0";
    const SECOND: &str = "2.0/0/0";
    const PROCESS: Process = Process { number: 1, incarnation: 0 };

    /// A hold whose lease ends at 50, and another one from 60 to 90.
    fn two(kind: Kind) -> Story {
        let first = Story::default().asks(FIRST, kind, 1).granted_until(FIRST, 10, 1, 50);
        first.holds(SECOND, kind, 60, 90, 2)
    }

    fn applied(story: Story, call: &str, at: u64, way: Way, value: u64) -> Story {
        story.writes(call, at, way, value, Outcome::Applied)
    }

    /// Returns the rules that are broken, and those that are excused.
    fn found(story: Story) -> (Vec<Rule>, Vec<Rule>) {
        let findings = state(&story.history());
        (rules(&findings.violations), rules(&findings.excused))
    }

    /// Both calls read 5, and write 6 and 7.
    fn updates(way: Way, first: u64, second_base: u64) -> Story {
        let story = applied(two(Kind::Mutex).reads(FIRST, 20, &[5]), FIRST, first, way, 6);
        applied(story.reads(SECOND, 70, &[second_base]), SECOND, 75, way, 7)
    }

    #[test]
    fn two_updates_of_one_value_are_found_if_both_holders_were_valid() {
        assert_eq!(found(updates(Way::Plain, 30, 6)), (vec![], vec![]));
        assert_eq!(found(updates(Way::Plain, 30, 5)), (vec![Rule::LostUpdate], vec![]));
        assert_eq!(found(updates(Way::Plain, 50, 5)), (vec![], vec![Rule::LostUpdate]));
        assert_eq!(found(updates(Way::Guarded, 50, 5)), (vec![Rule::LostUpdate], vec![]));
        let refused =
            two(Kind::Mutex).reads(FIRST, 20, &[5]).writes(FIRST, 30, Way::Fenced, 6, Outcome::Refused);
        let refused = applied(refused.reads(SECOND, 70, &[5]), SECOND, 75, Way::Fenced, 7);
        assert_eq!(found(refused), (vec![], vec![]));
    }

    #[test]
    fn an_update_without_a_hold_between_two_others_of_the_same_value_hides_nothing() {
        let late = two(Kind::Mutex).reads(SECOND, 91, &[5]);
        let late = applied(late, SECOND, 95, Way::Plain, 8);
        let one = applied(late.reads(FIRST, 20, &[5]), FIRST, 30, Way::Plain, 6);
        let third = one.holds("3.0/0/0", Kind::Mutex, 100, 120, 3).reads("3.0/0/0", 105, &[5]);
        let third = applied(third, "3.0/0/0", 110, Way::Plain, 9);
        let (violations, excused) = found(third);
        assert_eq!((violations, excused.len()), (vec![Rule::LostUpdate], 2));
    }

    #[test]
    fn an_update_of_a_value_that_the_same_holder_wrote_counts() {
        let twice = applied(
            applied(two(Kind::Mutex).reads(FIRST, 20, &[5]), FIRST, 30, Way::Plain, 6),
            FIRST,
            40,
            Way::Plain,
            7,
        );
        let after = |base| applied(twice.clone().reads(SECOND, 70, &[base]), SECOND, 75, Way::Plain, 8);
        assert_eq!(found(after(7)), (vec![], vec![]));
        assert_eq!(found(after(6)), (vec![Rule::LostUpdate], vec![]));
    }

    #[test]
    fn an_update_counts_from_its_read_on_and_a_refused_write_leaves_its_base() {
        let early = applied(two(Kind::Mutex).reads(FIRST, 9, &[5]), FIRST, 30, Way::Plain, 6);
        let early = applied(early.reads(SECOND, 70, &[5]), SECOND, 75, Way::Plain, 7);
        assert_eq!(found(early), (vec![], vec![Rule::LostUpdate]));
        let again =
            two(Kind::Mutex).reads(FIRST, 20, &[5]).writes(FIRST, 25, Way::Plain, 8, Outcome::Refused);
        let again = applied(again, FIRST, 30, Way::Plain, 6);
        let again = applied(again.reads(SECOND, 70, &[5]), SECOND, 75, Way::Plain, 7);
        assert_eq!(found(again), (vec![Rule::LostUpdate], vec![]));
    }

    #[test]
    fn a_torn_state_under_a_valid_hold_is_found() {
        let reads = |at, cells: &[u64]| two(Kind::Read).reads(SECOND, at, cells);
        assert_eq!(found(reads(70, &[3, 3, 3])), (vec![], vec![]));
        assert_eq!(found(reads(70, &[])), (vec![], vec![]));
        assert_eq!(found(reads(70, &[3, 3, 4])), (vec![Rule::TornState], vec![]));
        assert_eq!(found(reads(91, &[3, 4])), (vec![], vec![Rule::TornState]));
    }

    #[test]
    fn a_torn_state_is_excused_until_the_next_whole_write_after_a_late_or_killed_writer() {
        let late = || applied(two(Kind::Write), FIRST, 65, Way::Plain, 4);
        assert_eq!(found(late().reads(SECOND, 70, &[3, 4])), (vec![], vec![Rule::TornState]));
        // Neither of the cells has the value of the late write.
        assert_eq!(found(late().reads(SECOND, 70, &[3, 7])), (vec![Rule::TornState], vec![]));
        let healed = applied(late(), SECOND, 72, Way::Plain, 5);
        assert_eq!(found(healed.reads(SECOND, 80, &[5, 4])).0, [Rule::TornState, Rule::Disturbed]);
        let killed = || two(Kind::Write).campaign(15, Event::ProcessKilled { process: PROCESS });
        assert_eq!(found(killed().reads(SECOND, 70, &[3, 4])), (vec![], vec![Rule::TornState]));
        // A process that had released the lock wrote nothing after that.
        let over = killed().releases(FIRST, 14);
        assert_eq!(found(over.reads(SECOND, 70, &[3, 4])), (vec![Rule::TornState], vec![]));
        // Other writes explain both values.
        let recorded = applied(applied(killed(), FIRST, 12, Way::Plain, 3), FIRST, 14, Way::Plain, 4);
        assert_eq!(found(recorded.reads(SECOND, 70, &[3, 4])), (vec![Rule::TornState], vec![]));
    }

    #[test]
    fn a_torn_state_of_a_guarded_resource_is_never_excused_and_a_late_write_makes_no_state_whole() {
        let late = |way| applied(two(Kind::Write), FIRST, 65, way, 4).reads(SECOND, 70, &[3, 4]);
        assert_eq!(found(late(Way::Guarded)), (vec![Rule::TornState], vec![]));
        let twice = applied(applied(two(Kind::Write), FIRST, 55, Way::Plain, 4), FIRST, 65, Way::Plain, 7);
        assert_eq!(found(twice.reads(SECOND, 70, &[3, 4])), (vec![], vec![Rule::TornState]));
    }

    #[test]
    fn a_value_that_changes_under_an_exclusive_hold_is_found() {
        let reads = |kind, second| two(kind).reads(SECOND, 70, &[3]).reads(SECOND, 80, &[second]);
        assert_eq!(found(reads(Kind::Mutex, 3)), (vec![], vec![]));
        assert_eq!(found(reads(Kind::Mutex, 4)), (vec![Rule::Disturbed], vec![]));
        assert_eq!(found(reads(Kind::Read, 4)), (vec![], vec![]));
        let late = two(Kind::Mutex).reads(SECOND, 70, &[3]).reads(SECOND, 95, &[4]);
        assert_eq!(found(late), (vec![], vec![]));
        let own = |outcome, second| {
            let written = two(Kind::Mutex).reads(SECOND, 70, &[3]).writes(SECOND, 75, Way::Plain, 4, outcome);
            written.reads(SECOND, 80, &[second])
        };
        assert_eq!(found(own(Outcome::Applied, 4)), (vec![], vec![]));
        assert_eq!(found(own(Outcome::Applied, 3)), (vec![Rule::Disturbed], vec![]));
        assert_eq!(found(own(Outcome::Refused, 4)), (vec![Rule::Disturbed], vec![]));
        assert_eq!(found(own(Outcome::Unknown, 3)), (vec![], vec![]));
        assert_eq!(found(own(Outcome::Unknown, 4)), (vec![], vec![]));
    }

    #[test]
    fn a_late_write_explains_a_change_unless_the_resource_knows_better() {
        let disturbed = |way| {
            applied(two(Kind::Mutex).reads(SECOND, 70, &[3]), FIRST, 75, way, 4).reads(SECOND, 80, &[4])
        };
        assert_eq!(found(disturbed(Way::Plain)), (vec![], vec![Rule::Disturbed]));
        assert_eq!(found(disturbed(Way::Fenced)), (vec![], vec![Rule::Disturbed]));
        assert_eq!(found(disturbed(Way::Guarded)), (vec![Rule::Disturbed], vec![]));
        // A write whose outcome is unknown can come at any later time.
        let unknown = two(Kind::Mutex).writes(FIRST, 20, Way::Plain, 4, Outcome::Unknown);
        let unknown = unknown.reads(SECOND, 70, &[3]).reads(SECOND, 80, &[4]);
        assert_eq!(found(unknown), (vec![], vec![Rule::Disturbed]));
        let known = applied(two(Kind::Mutex), SECOND, 65, Way::Fenced, 3);
        let known = applied(known.reads(SECOND, 70, &[3]), FIRST, 75, Way::Fenced, 4).reads(SECOND, 80, &[4]);
        assert_eq!(found(known), (vec![Rule::Disturbed], vec![]));
    }
}
