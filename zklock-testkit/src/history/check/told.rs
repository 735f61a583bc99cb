//! The time between the end of a hold, as its holder knew it, and the next grant.

use super::super::event::Library;
use super::super::hold::{Ending, Hold};
use super::super::merged::History;
use super::super::record::Record;
use super::super::violation::{Rule, Violation, both, life, millis};
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
/// The margin of [`Ending::ToldLost`] and [`Ending::LeaseOver`] is that of the promise that a holder knows of its loss
/// before the lock is handed on.
pub fn margins(history: &History) -> Vec<Margin> {
    let mut margins: Vec<(Margin, (&Hold, &Hold))> = Vec::new();
    let ended = |(hold, _): &(&Hold, &Hold)| hold.ending != Ending::Open;
    for (hold, next) in successions(history).into_iter().filter(ended) {
        let nanos = next.granted.cast_signed() - hold.end.cast_signed();
        match margins.iter_mut().find(|(margin, _)| margin.ending == hold.ending) {
            Some((margin, pair)) => {
                margin.pairs += 1;
                if nanos < margin.nanos {
                    (margin.nanos, *pair) = (nanos, (hold, next));
                }
            }
            None => {
                let margin = Margin { ending: hold.ending, nanos, pairs: 1, records: Vec::new() };
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

/// Checks that each holder that lost its lock was told before the next hold that it excludes was granted.
///
/// A process that was stopped, or whose lock was broken by force, cannot be told in time and is left out. So are holds
/// of Curator. A holder that was never told is reported if its lease ended by its own knowledge, its process lived, and
/// it did not begin to release before the next grant.
pub fn told(history: &History) -> Vec<Violation> {
    let is_late = |(hold, next): &(&Hold, &Hold)| {
        let Some(call) = history.call(hold.call) else { return false };
        let life = history.life(hold.process());
        let known = call.told_lost.first().copied().into_iter().chain(call.release_begun).min();
        let died = life.killed().is_some_and(|killed| killed <= next.granted);
        let stopped = life.stopped_between(hold.granted, next.granted) > 0;
        let of_zklock = hold.library == Library::Zklock;
        of_zklock
            && hold.ending.is_loss()
            && !died
            && !stopped
            && known.is_none_or(|known| known > next.granted)
    };
    let show = |(hold, next): (&Hold, &Hold)| {
        let (calls, lock) = (both(hold.call, next.call), &hold.lock);
        let after = millis(next.granted - hold.end);
        let text = format!(
            "{calls}: the first was not told of the loss of {lock} before the second had it, {after} after the end of the first lease"
        );
        Violation::new(Rule::Told, text, records(history, hold, next))
    };
    let mut pairs: Vec<_> = successions(history).into_iter().filter(is_late).collect();
    // Overlaps are another promise.
    pairs.retain(|(hold, next)| hold.end <= next.granted);
    pairs.into_iter().map(show).collect()
}

fn records<'a>(history: &'a History, hold: &Hold, next: &Hold) -> impl Iterator<Item = Record> + use<'a> {
    let calls = [hold.call, next.call].into_iter().filter_map(|id| history.call(id));
    calls.flat_map(|call| life(&call.records))
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Event, Kind};
    use super::super::super::record::Process;
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
        rules(&told(&story.history()))
    }

    #[test]
    fn a_holder_is_told_before_the_next_grant() {
        assert_eq!(found(lost().told_lost(FIRST, 40)), []);
        assert_eq!(found(lost().told_lost(FIRST, 60)), []);
        assert_eq!(found(lost().told_lost(FIRST, 61)), [Rule::Told]);
        assert_eq!(found(lost()), [Rule::Told]);
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
