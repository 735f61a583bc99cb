//! The order in which a lock goes from hold to hold.

use super::super::hold::Hold;
use super::super::merged::History;

/// Pairs each hold with the next grant of a hold that it excludes, and that has no older token: the holder of an older one
/// can get to know its grant late, after its session was ended by force.
pub(super) fn successions(history: &History) -> Vec<(&Hold, &Hold)> {
    let mut pairs = Vec::new();
    for holds in history.holds_by_lock().values() {
        for (at, hold) in holds.iter().enumerate() {
            let next = holds[at + 1..].iter().find(|next| hold.excludes(next) && !is_older(next, hold));
            pairs.extend(next.map(|next| (*hold, *next)));
        }
    }
    pairs
}

fn is_older(one: &Hold, other: &Hold) -> bool {
    one.token.zip(other.token).is_some_and(|(one, other)| one < other)
}
