//! Guarded writes, and resources that refuse some. The accesses to each resource come with the holds that they were made under.

use std::collections::BTreeMap;

use super::told::successions;
use crate::history::{
    CallId, Ending, Event, History, Hold, Outcome, Record, Rule, Source, Violation, Way, both, life, millis,
};

/// Checks that no guarded write is applied after the next grant, that no resource refuses a holder that is valid until
/// its release, that nobody reads a value that was refused, and that no update of a valid holder is lost.
///
/// A guarded write is late if it began after the next grant. Nothing is excused.
pub(crate) fn writes(history: &History) -> Vec<Violation> {
    let next: BTreeMap<_, _> =
        successions(history).into_iter().map(|(hold, next)| (hold.call, next)).collect();
    let mut violations = Vec::new();
    for (name, resource) in resources(history) {
        violations.extend(refused(name, &resource));
        violations.extend(phantoms(name, &resource));
        violations.extend(lost_updates(name, &resource));
        if resource.way == Some(Way::Guarded) {
            violations.extend(begun_late(history, name, &resource, &next));
        }
    }
    violations
}

fn begun_late(
    history: &History,
    name: &str,
    resource: &Resource<'_>,
    next: &BTreeMap<CallId, &Hold>,
) -> Vec<Violation> {
    let applied = resource.accesses.iter().filter(|access| access.is_applied());
    let late = applied.filter_map(|access| {
        let next = next.get(&access.call).filter(|next| next.granted <= access.began)?;
        let after = millis(access.began - next.granted);
        let text = format!("{} wrote {name} {after} after {} had the lock", access.call, next.call);
        let grants = life(&history.calls[&next.call].records);
        Some(Violation::new(Rule::LateWrite, text, [access.record.clone()].into_iter().chain(grants)))
    });
    late.collect()
}

/// Finds reads of values whose writes were all refused.
fn phantoms(name: &str, resource: &Resource<'_>) -> Vec<Violation> {
    let mut refused = BTreeMap::new();
    for access in &resource.accesses {
        if access.wrote.is_some() {
            let write = refused.entry(access.value).or_insert(Some(access));
            *write = write.filter(|_| access.wrote == Some(Outcome::Refused));
        }
    }
    let mut violations = Vec::new();
    for access in resource.accesses.iter().filter(|access| access.wrote.is_none()) {
        let writes = refused.get(&access.value).copied().flatten().into_iter();
        violations.extend(writes.map(|write| {
            let text =
                format!("{} read a value of {name} that {} was refused to write", access.call, write.call);
            Violation::new(Rule::Phantom, text, [write.record.clone(), access.record.clone()])
        }));
    }
    violations
}

/// A holder that gives the lock back, and was never told of a loss, had it at the time of the write.
fn refused(name: &str, resource: &Resource<'_>) -> Vec<Violation> {
    let is_wrong = |access: &&Access<'_>| {
        let is_refused = access.wrote == Some(Outcome::Refused);
        let is_released = access.hold.is_some_and(|hold| hold.ending == Ending::Released);
        is_refused && is_released && access.is_covered()
    };
    let violation = |access: &Access<'_>| {
        let text = format!("{name} refused {}, which held the lock until its release", access.call);
        Violation::new(Rule::Refused, text, [access.record.clone()])
    };
    resource.accesses.iter().filter(is_wrong).map(violation).collect()
}

/// Finds pairs of updates of the same value that were both applied, by holders that were valid from their reads to their
/// writes, or through the guard.
fn lost_updates(name: &str, resource: &Resource<'_>) -> Vec<Violation> {
    let mut by_call = BTreeMap::<CallId, Vec<&Access<'_>>>::new();
    for access in &resource.accesses {
        by_call.entry(access.call).or_default().push(access);
    }
    let mut by_base = BTreeMap::<u64, Vec<[&Access<'_>; 2]>>::new();
    for accesses in by_call.values() {
        let mut base: Option<(u64, &Access<'_>)> = None;
        for access in accesses {
            let known = access.value.map(|value| (value, *access));
            base = match access.wrote {
                None => known,
                Some(Outcome::Applied) => {
                    if let Some((base, read)) = base.filter(|(_, read)| is_sure(resource, [read, access])) {
                        by_base.entry(base).or_default().push([read, access]);
                    }
                    known
                }
                Some(Outcome::Refused) => base,
                Some(Outcome::Unknown) => None,
            };
        }
    }
    let pairs = by_base.iter().flat_map(|(base, updates)| updates.windows(2).map(move |pair| (base, pair)));
    let shown = pairs.map(|(base, pair)| {
        let text = format!("{} both updated {name} from {base}", both(pair[0][1].call, pair[1][1].call));
        let records = pair.iter().flatten().map(|access| access.record.clone());
        Violation::new(Rule::LostUpdate, text, records)
    });
    shown.collect()
}

/// Returns whether a lock promises that nobody else writes between this read and this write of one hold.
fn is_sure(resource: &Resource<'_>, [read, write]: [&Access<'_>; 2]) -> bool {
    write.hold.is_some_and(|hold| hold.covers(read.began, write.ended)) || resource.way == Some(Way::Guarded)
}

/// A resource, and all accesses to it by the time of their ends.
#[derive(Debug, Default)]
struct Resource<'a> {
    accesses: Vec<Access<'a>>,
    /// The protection of the resource, if it was ever written.
    way: Option<Way>,
}

/// A read or a write.
#[derive(Clone, Debug)]
struct Access<'a> {
    call: CallId,
    began: u64,
    ended: u64,
    /// The value, which only a read may not know.
    value: Option<u64>,
    /// The outcome of a write.
    wrote: Option<Outcome>,
    hold: Option<&'a Hold>,
    record: &'a Record,
}

impl<'a> Access<'a> {
    /// Tells whether the hold was valid from the beginning of the access to its end.
    fn is_covered(&self) -> bool {
        self.hold.is_some_and(|hold| hold.covers(self.began, self.ended))
    }

    /// Tells whether the access is a write that was applied.
    fn is_applied(&self) -> bool {
        self.wrote == Some(Outcome::Applied)
    }

    fn of(record: &'a Record, holds: &BTreeMap<CallId, &'a Hold>) -> Option<(&'a str, Option<Way>, Self)> {
        let Source::Call(call) = record.by else { return None };
        let (resource, way, began, value, wrote) = match &record.event {
            Event::Read { resource, began, value } => (resource, None, *began, *value, None),
            Event::Wrote { resource, way, began, value, outcome } => {
                (resource, Some(*way), *began, Some(*value), Some(*outcome))
            }
            _ => return None,
        };
        let hold = holds.get(&call).copied();
        Some((resource, way, Self { call, began, ended: record.at, value, wrote, hold, record }))
    }
}

/// Returns all resources by their names.
fn resources(history: &History) -> BTreeMap<&str, Resource<'_>> {
    let holds: BTreeMap<_, _> = history.holds.iter().map(|hold| (hold.call, hold)).collect();
    let mut resources = BTreeMap::<_, Resource<'_>>::new();
    for record in &history.records {
        if let Some((name, way, access)) = Access::of(record, &holds) {
            let resource = resources.entry(name).or_default();
            resource.way = resource.way.or(way);
            resource.accesses.push(access);
        }
    }
    resources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Kind, Story, rules};

    const FIRST: &str = "1.0/0/0";
    const SECOND: &str = "2.0/0/0";

    /// A hold whose lease ends at 50, and another one from 60 to 90.
    fn two() -> Story {
        let first = Story::default().asks(FIRST, Kind::Mutex, 1).granted_until(FIRST, 10, 1, 50);
        first.holds(SECOND, Kind::Mutex, 60, 90, 2)
    }

    fn found(story: Story) -> Vec<Rule> {
        rules(&writes(&story.history()))
    }

    #[test]
    fn a_value_that_was_refused_is_never_read() {
        let refused = |way, then| {
            let story = two().writes(FIRST, 45, way, 7, Outcome::Refused).told_lost(FIRST, 47);
            let story = story.writes(SECOND, 65, way, 8, then);
            found(story.reads(SECOND, 70, 7).reads(SECOND, 80, 8).releases(FIRST, 95))
        };
        for way in [Way::Guarded, Way::Fenced] {
            assert_eq!(refused(way, Outcome::Applied), [Rule::Phantom], "{way:?}");
        }
        let again = two().writes(FIRST, 45, Way::Guarded, 7, Outcome::Refused);
        let again = again.writes(FIRST, 47, Way::Guarded, 7, Outcome::Applied).told_lost(FIRST, 48);
        assert_eq!(found(again.reads(SECOND, 70, 7)), []);
    }

    #[test]
    fn a_guarded_write_that_begins_after_the_next_grant_is_found() {
        let write = |at, outcome| two().writes(FIRST, at, Way::Guarded, 7, outcome);
        assert_eq!(found(write(55, Outcome::Applied)), []);
        // It began before the grant.
        assert_eq!(found(write(60, Outcome::Applied)), []);
        assert_eq!(found(write(61, Outcome::Applied)), [Rule::LateWrite]);
        assert_eq!(found(write(61, Outcome::Refused)), []);
        assert_eq!(found(write(61, Outcome::Unknown)), []);
        assert_eq!(found(two().writes(FIRST, 61, Way::Plain, 7, Outcome::Applied)), []);
    }

    #[test]
    fn an_older_token_whose_grant_is_known_late_makes_no_write_late() {
        let late = |token| two().holds("3.0/0/0", Kind::Mutex, 95, 99, token);
        let write = |story: Story| story.writes(SECOND, 97, Way::Guarded, 7, Outcome::Applied);
        assert_eq!(found(write(late(1))), []);
        assert_eq!(found(write(late(3))), [Rule::LateWrite]);
        // The write is late for the hold behind it.
        let third = write(late(1).holds("1.0/0/1", Kind::Mutex, 96, 99, 3));
        assert_eq!(found(third), [Rule::LateWrite]);
    }

    #[test]
    fn two_updates_of_one_value_are_found_if_both_holds_were_valid_or_the_writes_are_guarded() {
        let found = |way, end, second| {
            let first = two().reads(FIRST, 20, 7).writes(FIRST, end, way, 8, Outcome::Applied);
            found(first.reads(SECOND, 70, second).writes(SECOND, 80, way, 9, Outcome::Applied))
        };
        assert_eq!([found(Way::Plain, 30, 7), found(Way::Guarded, 55, 7)], [[Rule::LostUpdate]; 2]);
        assert_eq!([found(Way::Plain, 30, 8), found(Way::Plain, 55, 7)], [[]; 2]);
    }

    #[test]
    fn a_refused_holder_that_is_valid_until_its_release_is_found() {
        for way in [Way::Fenced, Way::Guarded] {
            assert_eq!(found(two().writes(SECOND, 70, way, 8, Outcome::Refused)), [Rule::Refused]);
            assert_eq!(found(two().writes(SECOND, 95, way, 8, Outcome::Refused)), []);
            assert_eq!(found(two().writes(FIRST, 20, way, 8, Outcome::Refused)), []);
        }
    }
}
