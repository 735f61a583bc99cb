//! Updates that are lost because two holders began from the same value.

use std::collections::BTreeMap;

use super::super::access::{Outcome, Way};
use super::super::violation::{Rule, Verdict, Violation, both};
use super::resources::{Access, Act, Resource};

/// Finds pairs of updates of the same value that were both applied.
pub(super) fn lost_updates(name: &str, resource: &Resource<'_>) -> Vec<(Violation, Verdict)> {
    let mut by_base = BTreeMap::<u64, Vec<Update<'_>>>::new();
    for accesses in resource.by_call().values() {
        for update in updates(accesses) {
            by_base.entry(update.base).or_default().push(update);
        }
    }
    by_base.values().flat_map(|updates| pairs(updates)).map(|pair| judged(name, resource, pair)).collect()
}

/// Pairs the updates of one value, so that two of them that a hold covers are a pair even if others came in between.
fn pairs<'a, 'b>(updates: &'b [Update<'a>]) -> Vec<[&'b Update<'a>; 2]> {
    let covered: Vec<_> = updates.iter().filter(|update| update.is_covered()).collect();
    let others = updates.windows(2).map(|pair| [&pair[0], &pair[1]]);
    let others = others.filter(|pair| !pair.iter().all(|update| update.is_covered()));
    covered.windows(2).map(|pair| [pair[0], pair[1]]).chain(others).collect()
}

/// A write, and the value that the same call had read or written before it.
struct Update<'a> {
    base: u64,
    /// The time from which on the call relied on the value.
    from: u64,
    write: &'a Access<'a>,
    records: Vec<&'a Access<'a>>,
}

impl Update<'_> {
    fn is_covered(&self) -> bool {
        self.write.hold.is_some_and(|hold| hold.covers(self.from, self.write.ended))
    }
}

fn updates<'a>(accesses: &[&'a Access<'a>]) -> Vec<Update<'a>> {
    let mut base: Option<(u64, &Access<'_>)> = None;
    let mut updates = Vec::new();
    for access in accesses {
        base = match access.act {
            Act::Read(cells) => cells.first().map(|value| (*value, *access)),
            Act::Write { value, outcome: Outcome::Applied, .. } => {
                updates.extend(base.map(|(base, read)| Update {
                    base,
                    from: read.began,
                    write: access,
                    records: vec![read, access],
                }));
                Some((value, *access))
            }
            Act::Write { outcome: Outcome::Refused, .. } => base,
            Act::Write { .. } => None,
        };
    }
    updates
}

fn judged(name: &str, resource: &Resource<'_>, [one, other]: [&Update<'_>; 2]) -> (Violation, Verdict) {
    let calls = both(one.write.call, other.write.call);
    let text = format!("{calls} both updated {name} from {}", one.base);
    let records = one.records.iter().chain(&other.records).map(|access| access.record.clone());
    let is_covered = one.is_covered() && other.is_covered();
    let is_broken = is_covered || resource.way == Some(Way::Guarded);
    let verdict = if is_broken { Verdict::Broken } else { Verdict::Excused };
    (Violation::new(Rule::LostUpdate, text, records), verdict)
}
