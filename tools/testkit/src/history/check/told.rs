//! The time between the end of a hold, as its holder knew it, and the next grant.

use super::super::event::{Event, Library};
use super::super::hold::{Ending, Hold};
use super::super::merged::History;
use super::super::record::Record;
use super::super::violation::{Rule, Violation, both, life, millis};
use super::bounds::Bounds;
use super::succession::successions;

/// The smallest time between the end of the validity of a hold and the next grant of a hold that it excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// The reason for which the earlier hold ended.
    pub ending: Ending,
    /// The time in nanoseconds. It is negative if the holds overlap.
    pub nanos: i64,
    /// The number of pairs of holds with this ending.
    pub pairs: u64,
    /// The records of the two calls.
    pub records: Vec<Record>,
}

/// Returns the smallest margin for each way in which holds end, except those that nobody ended.
///
/// [`Ending::ToldLost`] has the margins of the promise that a holder is told of its loss before the lock is handed on:
/// from the record of that to the next grant, if the process was not stopped. [`Ending::LeaseOver`] has those of
/// holders that were stopped or were never told, from the end of the lease as they knew it.
pub fn margins(history: &History) -> Vec<Margin> {
    let mut margins: Vec<(Margin, (&Hold, &Hold))> = Vec::new();
    let ended = |(hold, _): &(&Hold, &Hold)| hold.ending != Ending::Open;
    for (hold, next) in successions(history).into_iter().filter(ended) {
        let (end, ending) = known_end(history, hold, next);
        let nanos = next.granted.cast_signed() - end.cast_signed();
        match margins.iter_mut().find(|(margin, _)| margin.ending == ending) {
            Some((margin, pair)) => {
                margin.pairs += 1;
                if nanos < margin.nanos {
                    (margin.nanos, *pair) = (nanos, (hold, next));
                }
            }
            None => {
                let margin = Margin { ending, nanos, pairs: 1, records: Vec::new() };
                margins.push((margin, (hold, next)));
            }
        }
    }
    let with_records = |(margin, (hold, next)): (Margin, (&Hold, &Hold))| Margin {
        records: records(history, hold, next).collect(),
        ..margin
    };
    margins.into_iter().map(with_records).collect()
}

/// Returns the time at which a holder knew of its end: that of the record, and not that of its lease, if it was told.
fn known_end(history: &History, hold: &Hold, next: &Hold) -> (u64, Ending) {
    let told = history.call(hold.call).and_then(|call| call.told_lost.first());
    let told = told.filter(|_| hold.ending.is_loss() && !was_stopped(history, hold, next));
    told.map_or((hold.end, hold.ending), |told| (*told, Ending::ToldLost))
}

fn was_stopped(history: &History, hold: &Hold, next: &Hold) -> bool {
    history.life(hold.process()).stopped_between(hold.granted, next.granted) > 0
}

/// Checks that each holder that lost its lock was told before the next hold that it excludes was granted, and that no
/// lease is renewed after that grant and [`Bounds::slack`].
///
/// A holder that began to release before the next grant need not be told. If the history has no word of a loss, but
/// the lease ended before the next grant as far as the history knows, the holder is reported as well. A process that was
/// killed cannot be told in time. Neither can one that was stopped at some time between [`Bounds::slack`] before the end
/// of its lease and the next grant, nor the holder of a lock that was broken by force. The second condition is for them
/// too: a holder whose node is deleted has the news before the next answer of the servers. Holds of Curator are left out.
pub fn told(history: &History, bounds: &Bounds) -> Vec<Violation> {
    let mut violations = Vec::new();
    let of_zklock = |(hold, _): &(&Hold, &Hold)| hold.library == Library::Zklock;
    for (hold, next) in successions(history).into_iter().filter(of_zklock) {
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
        violations.push(Violation::new(Rule::Told, text, records(history, hold, next)));
    }
    violations
}

fn is_told_late(history: &History, hold: &Hold, next: &Hold, bounds: &Bounds) -> bool {
    let Some(call) = history.call(hold.call) else { return false };
    let known = call.told_lost.first().copied().into_iter().chain(call.release_begun).min();
    let died = history.life(hold.process()).killed().is_some_and(|killed| killed <= next.granted);
    // It had the time to be told if it ran before its lease ended.
    let from = hold.end.saturating_sub(bounds.slack);
    let was_stopped = history.life(hold.process()).stopped_between(from, next.granted) > 0;
    let is_excused = died || was_stopped;
    hold.ending.is_loss() && !is_excused && known.is_none_or(|known| known > next.granted)
}

/// Returns the time of the first record that shows that a lease was renewed after the next grant.
fn renewed_late(history: &History, hold: &Hold, next: &Hold, bounds: &Bounds) -> Option<u64> {
    let mut latest: Option<u64> = None;
    for record in &history.call(hold.call)?.records {
        let (Event::Granted { until: Some(until), .. } | Event::Renewed { until }) = record.event else {
            continue;
        };
        let is_renewal = latest.is_some_and(|latest| until > latest.saturating_add(ROUNDING));
        if is_renewal && record.at > next.granted.saturating_add(bounds.slack) {
            return Some(record.at);
        }
        latest = latest.max(Some(until));
    }
    None
}

/// The time by which two records of the same end of a lease may differ, in nanoseconds.
const ROUNDING: u64 = 50_000_000;

fn records<'a>(history: &'a History, hold: &Hold, next: &Hold) -> impl Iterator<Item = Record> + use<'a> {
    let calls = [hold.call, next.call].into_iter().filter_map(|id| history.call(id));
    calls.flat_map(|call| life(&call.records))
}

#[cfg(test)]
mod tests {
    use super::super::super::event::Kind;
    use super::super::super::source::Process;
    use super::super::super::story::{Story, rules};
    use super::*;

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

    #[test]
    fn a_holder_is_told_before_the_next_grant() {
        assert_eq!(found(lost().told_lost(FIRST, 40)), []);
        assert_eq!(found(lost().told_lost(FIRST, 60)), []);
        assert_eq!(found(lost().told_lost(FIRST, 61)), [Rule::Told]);
        assert_eq!(found(lost()), [Rule::Told]);
        let curator = Story::default().asks_in_curator(FIRST, 1).granted_until(FIRST, 10, 1, 50);
        assert_eq!(found(curator.holds("2.0/0/0", Kind::Mutex, 60, 70, 2)), []);
        // Holds that overlap break another promise.
        let overlap = Story::default().asks(FIRST, Kind::Mutex, 1).granted_until(FIRST, 10, 1, 50);
        assert_eq!(found(overlap.holds("2.0/0/0", Kind::Mutex, 49, 60, 2)), []);
    }

    #[test]
    fn a_holder_that_began_to_release_a_killed_one_and_a_stopped_one_are_left_out() {
        assert_eq!(found(lost().releases(FIRST, 55)), []);
        assert_eq!(found(lost().releases(FIRST, 61)), [Rule::Told]);
        assert_eq!(found(lost().campaign(55, Event::ProcessKilled { process: PROCESS })), []);
        assert_eq!(found(lost().campaign(61, Event::ProcessKilled { process: PROCESS })), [Rule::Told]);
        let stopped =
            |at| lost().campaign(at, Event::ProcessStopped { process: PROCESS }).told_lost(FIRST, 65);
        assert_eq!(found(stopped(20)), []);
        assert_eq!(found(stopped(62)), [Rule::Told]);
    }

    #[test]
    fn a_lease_that_is_renewed_after_the_next_grant_is_found_also_if_the_lock_was_broken_by_force() {
        let renewed = |at, until| {
            let broken = lost().campaign(30, Event::LockBroken { lock: "a".to_owned(), zxid: None });
            broken.at(at, FIRST, Event::Renewed { until }).told_lost(FIRST, 200)
        };
        let later = 51 + ROUNDING;
        assert_eq!(found(renewed(81, later)), [Rule::Told]);
        // It is known a moment later, and the end of the lease is rounded.
        assert_eq!(found(renewed(80, later)), []);
        assert_eq!(found(renewed(81, later - 1)), []);
    }

    #[test]
    fn the_margin_of_a_holder_that_is_told_counts_from_then_unless_it_was_stopped() {
        let figures = |story: Story| {
            let margins = margins(&story.history());
            margins.into_iter().map(|it| (it.ending, it.nanos)).collect::<Vec<_>>()
        };
        assert_eq!(figures(lost().told_lost(FIRST, 57)), [(Ending::ToldLost, 3)]);
        assert_eq!(figures(lost().told_lost(FIRST, 63)), [(Ending::ToldLost, -3)]);
        let stopped = lost().campaign(20, Event::ProcessStopped { process: PROCESS }).told_lost(FIRST, 63);
        assert_eq!(figures(stopped), [(Ending::LeaseOver, 10)]);
        let open = Story::default().asks(FIRST, Kind::Mutex, 1).granted(FIRST, 10, 1);
        assert_eq!(figures(open.asks("2.0/0/0", Kind::Mutex, 11).granted("2.0/0/0", 12, 2)), []);
    }

    #[test]
    fn the_smallest_margin_of_each_ending_is_found_with_its_records() {
        let story = lost().told_lost(FIRST, 45).holds("1.0/0/1", Kind::Mutex, 77, 80, 3);
        let story = story.holds("2.0/0/1", Kind::Mutex, 83, 90, 4).holds("3.0/0/0", Kind::Mutex, 89, 95, 5);
        let margins = margins(&story.history());
        let figures: Vec<_> = margins.iter().map(|it| (it.ending, it.nanos, it.pairs)).collect();
        assert_eq!(figures, [(Ending::ToldLost, 15, 1), (Ending::Released, -1, 3)]);
        assert_eq!(margins[0].records[0].by.to_string(), FIRST);
        assert_eq!(margins[1].records.last().unwrap().by.to_string(), "3.0/0/0");
    }
}
