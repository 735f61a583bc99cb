//! Random histories that are sound, and the mutations of them that the checks find.

use proptest::prelude::*;

use super::access::{Outcome, Way};
use super::check::{exclusion, outcomes, state, tokens, writes};
use super::event::{Event, Kind, Token};
use super::linear;
use super::merged::History;
use super::record::Record;
use super::story::Story;

/// The figures of one hold: its process, its length, the pause in front of it, and the time for which its call waits.
type Figures = (u32, u64, u64, u64);

/// Holds of one mutex that follow each other, each of which reads the register and writes it.
fn sound(holds: &[Figures], way: Way) -> Vec<Record> {
    let (mut story, mut now) = (Story::default(), 1_000);
    for (index, (process, length, pause, wait)) in holds.iter().enumerate() {
        let (call, token) = (format!("{process}.0/0/{index}"), index as u64 + 1);
        now += pause;
        story = story.asks(&call, Kind::Mutex, now - wait).granted(&call, now, token);
        story = story.reads(&call, now + 2, &[index as u64]);
        story = story.writes_with(&call, now + 5, way, token, Outcome::Applied, Some(token));
        now += length;
        story = story.releases(&call, now);
    }
    story.0
}

fn holds() -> impl Strategy<Value = Vec<Figures>> {
    prop::collection::vec((1..4_u32, 6..40_u64, 0..10_u64, 1..500_u64), 2..30)
}

fn is_sound(records: Vec<Record>) -> bool {
    let history = History::new(records);
    let state = state(&history).violations;
    let found = [exclusion(&history), tokens(&history), writes(&history), state, outcomes(&history)];
    found.concat().is_empty()
}

fn is_linearizable(records: Vec<Record>) -> bool {
    let checked = linear::all(&History::new(records), 100_000);
    assert!(checked.iter().all(|it| it.report.unchecked.is_empty()));
    checked.iter().all(|it| it.violation.is_none())
}

/// Returns the places of the grants.
fn grants(records: &[Record]) -> Vec<usize> {
    let is_grant = |record: &Record| matches!(record.event, Event::Granted { .. });
    (0..records.len()).filter(|at| is_grant(&records[*at])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sound_histories_pass(holds in holds()) {
        for way in [Way::Plain, Way::Fenced, Way::Guarded] {
            prop_assert!(is_sound(sound(&holds, way)));
            prop_assert!(is_linearizable(sound(&holds, way)));
        }
    }

    #[test]
    fn two_grants_that_change_places_are_found(holds in holds(), at in any::<prop::sample::Index>()) {
        let mut records = sound(&holds, Way::Guarded);
        let grants = grants(&records);
        let first = at.index(grants.len() - 1);
        let (one, other) = (grants[first], grants[first + 1]);
        // The second call has the grant and the token of the first one, and the other way round.
        let by = records[one].by;
        records[one].by = records[other].by;
        records[other].by = by;
        prop_assert!(!is_sound(records));
    }

    #[test]
    fn two_tokens_that_change_places_or_are_the_same_are_found(
        holds in holds(),
        at in any::<prop::sample::Index>(),
        is_swap in any::<bool>(),
    ) {
        let mut records = sound(&holds, Way::Guarded);
        let grants = grants(&records);
        let first = at.index(grants.len() - 1);
        let token = |number: usize| Some(Token(number as u64 + 1, 0));
        let (one, other) = if is_swap { (token(first + 1), token(first)) } else { (token(first), token(first)) };
        for (place, token) in [(grants[first], one), (grants[first + 1], other)] {
            records[place].event = Event::Granted { token, until: None };
        }
        prop_assert!(!is_sound(records.clone()));
        prop_assert!(!is_linearizable(records));
    }

    #[test]
    fn a_hold_that_ends_after_the_next_grant_is_found(
        holds in holds(),
        at in any::<prop::sample::Index>(),
        late in 1..5_u64,
    ) {
        let mut records = sound(&holds, Way::Guarded);
        let grants = grants(&records);
        let first = at.index(grants.len() - 1);
        let (call, next) = (records[grants[first]].by, records[grants[first + 1]].at);
        for record in records.iter_mut().filter(|record| record.by == call) {
            match record.event {
                Event::ReleaseBegun => record.at = next + late,
                Event::Released => record.at = next + late + 1,
                _ => {}
            }
        }
        prop_assert!(!is_sound(records.clone()));
        prop_assert!(!is_linearizable(records));
    }

    #[test]
    fn a_write_that_comes_after_the_next_holder_wrote_is_found(
        holds in holds(),
        at in any::<prop::sample::Index>(),
        is_fenced in any::<bool>(),
    ) {
        let way = if is_fenced { Way::Fenced } else { Way::Guarded };
        let mut records = sound(&holds, way);
        let grants = grants(&records);
        let first = at.index(grants.len() - 1);
        let (call, next) = (records[grants[first]].by, records[grants[first + 1]].at);
        // It begins when the write of the next holder has ended.
        let time = next + 6;
        for record in records.iter_mut().filter(|record| record.by == call) {
            if let Event::Wrote { began, .. } = &mut record.event {
                (*began, record.at) = (time, time);
            }
        }
        prop_assert!(!is_sound(records.clone()));
        prop_assert!(!is_fenced || !is_linearizable(records));
    }
}
