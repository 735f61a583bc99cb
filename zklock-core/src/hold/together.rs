//! Enters several locks at once, by one transaction, if nobody is in the way.

use std::sync::Arc;
use std::time::Instant;
use std::{iter, slice};

use crate::acquire::{Patience, Wanted};
use crate::client::Client;
use crate::cohort::{self, Grant};
use crate::error::LockError;
use crate::events::Attempt;
use crate::session::drive::Contention;

use super::Hold;
use super::door::Door;
use super::enter::announce;
use super::scope::nearest;
use super::sought::Sought;
use super::spanned::{self, Spanned};

/// The outcome of an entry into several locks at once.
pub(crate) enum Together {
    Held(Vec<Hold>),
    /// They have to be entered one after the other. The attempt to acquire the first one has begun.
    Apart(Attempt),
}

/// Returns whether these locks, which are in the order of their paths, can be entered together: each is one place in one
/// queue, and the call holds none of them.
pub(crate) fn fit_together(client: &Client, doors: &[Door]) -> bool {
    let is_place = |door: &Door| matches!(door.wanted, Wanted::Place(_));
    (2..=MOST_MEMBERS).contains(&doors.len())
        && doors.iter().all(|door| is_place(door) && nearest(Sought::at(client, door)).is_none())
}

/// Enters locks that [fit together](fit_together), if nobody holds one of them or waits for it. It leaves nothing behind
/// otherwise.
pub(crate) async fn enter_together(
    client: &Client,
    doors: &[Door],
    patience: Patience,
    group: Option<u64>,
) -> Result<Together, LockError> {
    let started = Instant::now();
    let patience = || Patience { contention: Contention::Leave, ..patience.spent(started.elapsed()) };
    let attempt = doors[0].attempt(client, group);
    let places = doors.iter().filter_map(|door| match &door.wanted {
        Wanted::Place(place) => Some((door.path.clone(), place.clone())),
        Wanted::NextPlace(_) | Wanted::Permits(_) | Wanted::Office { .. } => None,
    });
    let grants = cohort::enter_together(client, places.collect(), (patience, attempt.witness())).await;
    let grants = match grants {
        Ok(Some(grants)) => grants,
        Ok(None) => return Ok(Together::Apart(attempt)),
        Err(error) => {
            attempt.failed(&error);
            return Err(error);
        }
    };
    let later = doors[1..].iter().map(|door| door.attempt(client, group));
    let members = iter::zip(iter::zip(doors, iter::once(attempt).chain(later)), grants);
    Ok(Together::Held(members.map(|((door, attempt), grant)| hold(client, (door, attempt), grant)).collect()))
}

fn hold(client: &Client, (door, attempt): (&Door, Attempt), grant: Arc<Grant>) -> Hold {
    announce(attempt, slice::from_ref(&grant));
    let span = spanned::open(door, slice::from_ref(&grant));
    let part = Spanned::part(span.as_ref(), &grant);
    Hold::first(client, door.entry, (grant, part))
}

/// The most members of one transaction.
const MOST_MEMBERS: usize = 64;
