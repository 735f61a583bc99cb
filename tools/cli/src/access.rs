//! The access to the participants of a lock.
//!
//! Uses the floors below: `exit`.

use zklock::Surveyed;

use crate::exit::Failure;

/// Fails if a survey of one lock shows no participant, and the servers denied a request for them.
pub(crate) fn check(surveyed: &Surveyed) -> Result<(), Failure> {
    let is_seen = surveyed.locks.iter().any(|lock| !lock.participants.is_empty());
    match &surveyed.denied {
        Some(denied) if !is_seen => Err(denied.clone().into()),
        _ => Ok(()),
    }
}
