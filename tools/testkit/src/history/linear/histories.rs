//! The operations of a history, and the check of all of its locks and registers.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::super::access::{Outcome, Way};
use super::super::call::End;
use super::super::event::{Event, Kind};
use super::super::hold::{Ending, Hold};
use super::super::merged::History;
use super::super::record::Record;
use super::super::source::Source;
use super::super::violation::{Rule, Violation};
use super::model::{LockOp, Permits, PermitsOp, ReadWrite, ReadWriteOp, Reentrant};
use super::operation::{Operation, Span};
use super::register::{FencedRegister, RegisterOp};
use super::windows::{Report, check};

/// The check of one lock or one resource.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The name of the lock or the resource.
    pub name: String,
    /// The report.
    pub report: Report,
    /// The failure, with the records of the operation that cannot be placed.
    pub violation: Option<Violation>,
}

/// Checks every lock, and every fenced resource.
pub fn all(history: &History, limit: usize) -> Vec<Checked> {
    [locks(history, limit), registers(history, limit)].into_iter().flatten().collect()
}

/// Checks every lock against the model of its kind: a semaphore, a read-write lock, or a mutex with tokens whose holder
/// may enter again.
///
/// An acquisition takes effect between the request and the grant. A release takes effect between its beginning and its
/// end, and the end of a hold in another way at the time at which it is no more valid. A call that gave up, and a
/// hold that was never valid, have no effect. Inner holds count in mutexes only.
pub fn locks(history: &History, limit: usize) -> Vec<Checked> {
    let locks = history.holds_by_lock().into_iter();
    let check = |(name, mut holds): (Arc<str>, Vec<&Hold>)| {
        holds.retain(|hold| hold.was_valid());
        lock(history, &name, &holds, limit)
    };
    locks.map(check).collect()
}

fn lock(history: &History, name: &str, holds: &[&Hold], limit: usize) -> Checked {
    let most = holds.iter().filter_map(|hold| match hold.kind {
        Kind::Permits { of, .. } => Some(of),
        _ => None,
    });
    let outer = || holds.iter().copied().filter(|hold| hold.root == hold.call);
    if let Some(most) = most.max() {
        let operations = operations(history, outer(), |hold, act| match (hold.kind, act) {
            (Kind::Permits { n, .. }, Act::Begin) => PermitsOp::Acquire(n),
            (Kind::Permits { n, .. }, Act::End) => PermitsOp::Release(n),
            // Another kind of lock has the semaphore to itself.
            (_, Act::Begin) => PermitsOp::Acquire(most),
            (_, Act::End) => PermitsOp::Release(most),
        });
        let report = check(&Permits(most), &operations, limit);
        return checked(history, name, report, &operations);
    }
    if holds.iter().any(|hold| matches!(hold.kind, Kind::Read | Kind::Write)) {
        let operations = operations(history, outer(), |hold, act| match (hold.kind, act) {
            (Kind::Read, Act::Begin) => ReadWriteOp::Read,
            (Kind::Read, Act::End) => ReadWriteOp::EndRead,
            (_, Act::Begin) => ReadWriteOp::Write,
            (_, Act::End) => ReadWriteOp::EndWrite,
        });
        let report = check(&ReadWrite, &operations, limit);
        return checked(history, name, report, &operations);
    }
    let operations = operations(history, holds.iter().copied(), |hold, act| match act {
        Act::Begin => LockOp::Acquire { who: hold.root, token: hold.token },
        Act::End => LockOp::Release { who: hold.root },
    });
    let report = check(&Reentrant, &operations, limit);
    checked(history, name, report, &operations)
}

/// The two ends of a hold.
#[derive(Clone, Copy)]
enum Act {
    Begin,
    End,
}

fn operations<'a, O>(
    history: &History,
    holds: impl Iterator<Item = &'a Hold>,
    op: impl Fn(&Hold, Act) -> O,
) -> Vec<Operation<O>> {
    let mut operations = Vec::new();
    for hold in holds {
        let begin = Span::Certain { returned: hold.granted };
        operations.push(Operation {
            call: hold.call,
            op: op(hold, Act::Begin),
            invoked: hold.asked,
            span: begin,
        });
        if hold.ending != Ending::Open {
            let end = Span::Certain { returned: returned(history, hold) };
            operations.push(Operation {
                call: hold.call,
                op: op(hold, Act::End),
                invoked: hold.end,
                span: end,
            });
        }
    }
    operations
}

/// Returns the end of the release, or the end of the hold if there was none.
fn returned(history: &History, hold: &Hold) -> u64 {
    let ends = history.call(hold.call).into_iter().flat_map(|call| &call.ends);
    let released = ends.filter_map(|end| match end {
        End::Released { at } if hold.ending == Ending::Released => Some(*at),
        _ => None,
    });
    released.min().unwrap_or(hold.end).max(hold.end)
}

fn checked<O: std::fmt::Debug>(
    history: &History,
    name: &str,
    report: Report,
    operations: &[Operation<O>],
) -> Checked {
    let violation = report.failure.as_ref().map(|failure| {
        let stuck = &operations[failure.stuck];
        let explained = failure.explained.len();
        let last = failure.explained.last().map(|index| &operations[*index]);
        let text = format!(
            "no order of the operations of {name} has {:?} of {}; {explained} operations are explained, up to {last:?}",
            stuck.op, stuck.call
        );
        let records = history.call(stuck.call).map(|call| call.records.clone());
        Violation::new(Rule::Linear, text, records.unwrap_or_default())
    });
    Checked { name: name.to_owned(), report, violation }
}

/// Checks every fenced resource against the model of a register that knows tokens.
///
/// A write with an unknown outcome may take effect until a write with a greater token has been applied. A value that no
/// record wrote is that of a process that was killed before it could tell.
pub fn registers(history: &History, limit: usize) -> Vec<Checked> {
    let mut resources = BTreeMap::<&str, (Vec<Operation<RegisterOp>>, bool)>::new();
    for record in history.records() {
        if let Some((name, operation)) = operation(record) {
            let (operations, is_fenced) = resources.entry(name).or_default();
            *is_fenced |= matches!(record.event, Event::Wrote { way: Way::Fenced, .. });
            operations.push(operation);
        }
    }
    let fenced = resources.into_iter().filter(|(_, (_, is_fenced))| *is_fenced);
    let check = |(name, (mut operations, _)): (&str, (Vec<_>, _))| {
        operations.extend(untold(history, &operations));
        bound_unknown(&mut operations);
        let report = check(&FencedRegister, &operations, limit);
        checked(history, name, report, &operations)
    };
    fenced.map(check).collect()
}

fn operation(record: &Record) -> Option<(&str, Operation<RegisterOp>)> {
    let Source::Call(call) = record.by else { return None };
    let certain = Span::Certain { returned: record.at };
    match &record.event {
        Event::Read { resource, began, cells, .. } => {
            let op = RegisterOp::Read(*cells.first()?);
            Some((resource, Operation { call, op, invoked: *began, span: certain }))
        }
        Event::Wrote { resource, began, value, token, outcome, .. } => {
            let op = RegisterOp::Write { token: *token, value: *value, outcome: *outcome };
            let span = if *outcome == Outcome::Unknown { Span::Uncertain { until: None } } else { certain };
            Some((resource, Operation { call, op, invoked: *began, span }))
        }
        _ => None,
    }
}

/// Returns the writes whose processes were killed before they wrote the record: one for each value that was read and that
/// no record wrote, by the last killed call that had read the register before, and had not written it.
fn untold(history: &History, operations: &[Operation<RegisterOp>]) -> Vec<Operation<RegisterOp>> {
    let written = |operation: &Operation<RegisterOp>| match operation.op {
        RegisterOp::Write { value, .. } => Some((operation.call, value)),
        RegisterOp::Read(_) => None,
    };
    let (writers, values): (HashSet<_>, HashSet<_>) = operations.iter().filter_map(written).unzip();
    let mut found = BTreeMap::new();
    for read in operations {
        let RegisterOp::Read(value) = read.op else { continue };
        if value != 0 && !values.contains(&value) {
            let first = found.entry(value).or_insert(read.invoked);
            *first = read.invoked.min(*first);
        }
    }
    let killed = |operation: &&Operation<RegisterOp>| {
        let life = history.life(operation.call.process);
        matches!(operation.op, RegisterOp::Read(_))
            && life.killed().is_some()
            && !writers.contains(&operation.call)
    };
    let write = |(value, read): (u64, u64)| {
        let earlier = operations.iter().filter(killed).filter(|operation| operation.last() < Some(read));
        let last = earlier.max_by_key(|operation| operation.invoked)?;
        let token = history.call(last.call)?.grants.first()?.token;
        let op = RegisterOp::Write { token, value, outcome: Outcome::Unknown };
        let invoked = last.last()?;
        Some(Operation { call: last.call, op, invoked, span: Span::Uncertain { until: None } })
    };
    found.into_iter().filter_map(write).collect()
}

/// Ends the time of each unknown write at the end of the first applied write with a greater token.
fn bound_unknown(operations: &mut [Operation<RegisterOp>]) {
    let applied = operations.iter().filter_map(|operation| match operation.op {
        RegisterOp::Write { token, outcome: Outcome::Applied, .. } => Some((operation.last()?, token)),
        _ => None,
    });
    let applied: Vec<_> = applied.collect();
    for operation in operations {
        if let (RegisterOp::Write { token: Some(own), .. }, Span::Uncertain { until }) =
            (operation.op, &mut operation.span)
        {
            let ends = applied.iter().filter(|(end, token)| *token > Some(own) && *end >= operation.invoked);
            *until = ends.map(|(end, _)| *end).min();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::source::Process;
    use super::super::super::story::Story;
    use super::*;

    /// Returns the names of the locks and resources that fail, and the number of windows that are not checked.
    fn found(story: Story) -> (Vec<String>, usize) {
        let checked = all(&story.history(), 1_000);
        let unchecked = checked.iter().map(|it| it.report.unchecked.len()).sum();
        (checked.into_iter().filter(|it| it.violation.is_some()).map(|it| it.name).collect(), unchecked)
    }

    fn fails(story: Story) -> bool {
        let (failed, unchecked) = found(story);
        assert_eq!(unchecked, 0);
        !failed.is_empty()
    }

    fn two(kind: Kind, second: u64, token: u64) -> Story {
        let first = Story::default().holds("1.0/0/0", kind, 10, 20, 5);
        first.holds("2.0/0/0", kind, second, second + 10, token)
    }

    #[test]
    fn mutexes_with_an_overlap_or_a_falling_token_fail() {
        assert!(!fails(two(Kind::Mutex, 25, 6)));
        assert!(fails(two(Kind::Mutex, 15, 6)));
        assert!(fails(two(Kind::Mutex, 25, 4)));
        assert!(fails(two(Kind::Mutex, 25, 5)));
    }

    #[test]
    fn readers_overlap_and_writers_do_not() {
        assert!(!fails(two(Kind::Read, 15, 6)));
        assert!(fails(two(Kind::Write, 15, 6)));
        let mixed = |second| {
            let reader = Story::default().holds("1.0/0/0", Kind::Read, 10, 20, 5);
            reader.holds("2.0/0/0", Kind::Write, second, second + 5, 6)
        };
        assert!(!fails(mixed(22)));
        assert!(fails(mixed(18)));
    }

    #[test]
    fn permits_above_their_number_fail() {
        assert!(!fails(two(Kind::Permits { n: 1, of: 2 }, 15, 6)));
        assert!(fails(two(Kind::Permits { n: 2, of: 3 }, 15, 6)));
    }

    #[test]
    fn inner_holds_keep_the_lock_and_its_token() {
        let inner = |token, second| {
            let outer = Story::default().holds("1.0/0/0", Kind::Mutex, 10, 20, 5);
            let inner = outer.asks_inside("1.0/0/1", 0, 12).granted("1.0/0/1", 13, token);
            inner.releases("1.0/0/1", 30).holds("2.0/0/0", Kind::Mutex, second, 50, 6)
        };
        assert!(!fails(inner(5, 35)));
        assert!(fails(inner(4, 35)));
        assert!(fails(inner(5, 25)));
    }

    #[test]
    fn a_lost_hold_ends_with_its_lease() {
        let lost = |until| {
            let first =
                Story::default().asks("1.0/0/0", Kind::Mutex, 1).granted_until("1.0/0/0", 10, 1, until);
            first.holds("2.0/0/0", Kind::Mutex, 60, 70, 2).told_lost("1.0/0/0", 90)
        };
        assert!(!fails(lost(60)));
        assert!(fails(lost(61)));
    }

    #[test]
    fn a_hold_that_was_never_valid_has_no_effect() {
        let broken = Event::LockBroken { lock: "a".to_owned(), zxid: None };
        let story = Story::default().campaign(5, broken).holds("1.0/0/0", Kind::Mutex, 10, 40, 5);
        // It is noted behind the next holder, which has a greater token.
        assert!(!fails(story.clone().holds("2.0/0/0", Kind::Mutex, 8, 50, 6)));
        assert!(!fails(story));
    }

    #[test]
    fn fenced_registers_are_checked_with_their_unknown_writes() {
        let register = |late, read: u64| {
            let story = two(Kind::Mutex, 25, 6);
            let unknown = story.writes_with("1.0/0/0", 15, Way::Fenced, 1, Outcome::Unknown, Some(5));
            let second = unknown.writes_with("2.0/0/0", 28, Way::Fenced, 2, Outcome::Applied, Some(6));
            let late = second.writes_with("1.0/0/0", 40, Way::Fenced, 3, late, Some(5));
            late.reads("2.0/0/0", 42, &[read])
        };
        assert!(!fails(register(Outcome::Refused, 2)));
        assert!(fails(register(Outcome::Applied, 3)));
        // The unknown write is under way until that with the greater token has been applied.
        let windows = registers(&register(Outcome::Refused, 2).history(), 100).remove(0).report.windows;
        assert_eq!(windows, 3);
        // Another write with its own token does not keep it out.
        let same =
            two(Kind::Mutex, 25, 6).writes_with("1.0/0/0", 15, Way::Fenced, 1, Outcome::Unknown, Some(5));
        let same = same.writes_with("1.0/0/0", 18, Way::Fenced, 2, Outcome::Applied, Some(5));
        assert!(!fails(same.reads("2.0/0/0", 28, &[2]).reads("2.0/0/0", 30, &[1])));
        // The unknown write cannot come after that with the greater token.
        assert!(fails(register(Outcome::Refused, 1)));
    }

    #[test]
    fn a_value_that_no_record_wrote_is_that_of_a_killed_process() {
        let process = Process { number: 1, incarnation: 0 };
        let first = Story::default().asks("1.0/0/0", Kind::Mutex, 9).granted("1.0/0/0", 10, 5);
        let first = first.reads("1.0/0/0", 12, &[0]);
        let second = |first: Story, value| {
            let held = first.holds("2.0/0/0", Kind::Mutex, 25, 40, 6).reads("2.0/0/0", 28, &[value]);
            let wrote = held.writes_with("2.0/0/0", 32, Way::Fenced, 2, Outcome::Applied, Some(6));
            wrote.reads("2.0/0/0", 34, &[2])
        };
        assert!(fails(second(first.clone(), 7)), "nobody was killed");
        let killed = first.campaign(15, Event::ProcessKilled { process });
        assert!(!fails(second(killed.clone(), 7)));
        // It cannot be applied after a greater token.
        assert!(fails(second(killed.clone(), 0).reads("2.0/0/0", 36, &[7])));
        assert!(fails(second(killed, 7).reads("2.0/0/0", 36, &[7])));
    }
}
