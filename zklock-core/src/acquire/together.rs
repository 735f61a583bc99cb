//! Places in several queues, which one call takes together or not at all.

use std::iter;
use std::sync::Arc;

use crate::lease::Lease;
use crate::path::NodePath;
use crate::queue::claim::{Claim, Place};
use crate::session::Session;
use crate::session::drive::{Bid, Convoy, Numbers, Outcome};

use super::attempt::{Attempt, Leases};

/// Takes all places within one session, or none. It never waits for others.
pub(super) async fn contest(
    attempt: &Attempt,
    session: &Arc<Session>,
    places: &[(NodePath, Place)],
) -> Outcome<Leases> {
    let bids = places.iter().map(|(path, place)| {
        let data = attempt.worker.identity();
        let claim = Claim::Place(place.clone());
        Bid { lock: path.clone(), path: path.clone(), claim, data, counter: None, numbers: Numbers::Used }
    });
    let mut convoy = Convoy::new(session, bids);
    let outcome = convoy.acquire(&attempt.cancel).await;
    outcome.map(|nodes| {
        let drivers = iter::zip(convoy.into_drivers(), places);
        let leases = iter::zip(drivers, &nodes).map(|((driver, (path, _)), node)| {
            Lease::begin(driver, path.clone(), node, attempt.worker.tasks())
        });
        leases.collect()
    })
}
