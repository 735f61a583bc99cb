//! Resources that change under a hold that excludes all others.

use super::super::access::{Outcome, Way};
use super::super::event::Kind;
use super::super::violation::{Rule, Verdict, Violation};
use super::resources::{Access, Act, Resource, Suspects};

/// Finds reads that differ from the last read or write of the same hold.
pub(super) fn unstable<'a>(
    name: &str,
    resource: &Resource<'_>,
    suspects: &dyn Fn() -> &'a Suspects,
) -> Vec<(Violation, Verdict)> {
    let mut found = Vec::new();
    for accesses in resource.by_call().values().filter(|accesses| excludes_all(accesses[0])) {
        // The last access, the values that the next read may have, and whether the hold has written.
        let mut known: Option<Known<'_>> = None;
        for access in accesses.iter().filter(|access| access.is_covered()) {
            if let (Act::Read(cells), Some(known)) = (access.act, &known)
                && cells.iter().any(|cell| !known.values.contains(cell))
            {
                let text =
                    format!("{name} changed under {}, from {:?} to {cells:?}", access.call, known.values);
                let records = [known.by.record.clone(), access.record.clone()];
                let verdict = judged(resource, access, known, suspects);
                found.push((Violation::new(Rule::Disturbed, text, records), verdict));
            }
            known = next(known, access);
        }
    }
    found
}

/// The knowledge of a holder about a resource.
struct Known<'a> {
    values: Vec<u64>,
    by: &'a Access<'a>,
    has_written: bool,
}

fn next<'a>(known: Option<Known<'a>>, access: &'a Access<'a>) -> Option<Known<'a>> {
    let has_written = known.as_ref().is_some_and(|known| known.has_written);
    match access.act {
        Act::Read([]) | Act::Write { outcome: Outcome::Refused, .. } => known,
        Act::Read(cells) => Some(Known { values: cells.to_vec(), by: access, has_written }),
        Act::Write { value, outcome: Outcome::Applied, .. } => {
            Some(Known { values: vec![value], by: access, has_written: true })
        }
        Act::Write { value, .. } => known.map(|mut known| {
            known.values.push(value);
            known
        }),
    }
}

fn excludes_all(access: &Access<'_>) -> bool {
    access.hold.is_some_and(|hold| match hold.kind {
        Kind::Read => false,
        Kind::Permits { n, of } => n == of,
        _ => hold.root == hold.call,
    })
}

fn judged<'a>(
    resource: &Resource<'_>,
    read: &Access<'_>,
    known: &Known<'_>,
    suspects: &dyn Fn() -> &'a Suspects,
) -> Verdict {
    let may_be_late = match resource.way {
        Some(Way::Guarded) => false,
        Some(Way::Fenced) => !known.has_written,
        _ => true,
    };
    let Act::Read(cells) = read.act else { return Verdict::Broken };
    let mut strange = cells.iter().filter(|cell| !known.values.contains(cell));
    let mut is_explained = || strange.all(|cell| suspects().may_explain(read, known.by.began, *cell));
    if may_be_late && is_explained() { Verdict::Excused } else { Verdict::Broken }
}
