//! The order in which a lock goes from hold to hold.

use std::collections::BTreeMap;

use super::super::event::Kind;
use super::super::hold::{Hold, excludes};
use super::super::merged::History;
use super::tokens::class;

/// Pairs each hold with the next grant of a hold that it excludes, and that has no older token: the holder of an older one
/// can get to know its grant late, after its session was ended by force.
pub(super) fn successions(history: &History) -> Vec<(&Hold, &Hold)> {
    let mut pairs = Vec::new();
    for holds in history.holds_by_lock().values() {
        let places = places(holds);
        for (at, hold) in holds.iter().enumerate() {
            // Places of a kind that a hold does not exclude, such as those of other readers, may be many.
            let of_kinds = places.values().filter(|places| excludes(places[0].1.kind, hold.kind));
            let next = of_kinds.filter_map(|places| {
                let later = &places[places.partition_point(|(place, _)| *place <= at)..];
                later.iter().find(|(_, next)| hold.excludes(next) && !is_older(next, hold))
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

fn is_older(one: &Hold, other: &Hold) -> bool {
    one.token.zip(other.token).is_some_and(|(one, other)| one < other)
}
