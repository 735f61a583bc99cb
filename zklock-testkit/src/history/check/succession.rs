//! The order in which a lock goes from hold to hold.

use super::super::hold::Hold;
use super::super::merged::History;

/// Pairs each hold with the next grant of a hold that it excludes.
pub(super) fn successions(history: &History) -> Vec<(&Hold, &Hold)> {
    let mut pairs = Vec::new();
    for holds in history.holds_by_lock().values() {
        for (at, hold) in holds.iter().enumerate() {
            let next = holds[at + 1..].iter().find(|next| hold.excludes(next));
            pairs.extend(next.map(|next| (*hold, *next)));
        }
    }
    pairs
}
