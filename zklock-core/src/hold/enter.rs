//! Enters a lock, either again in memory or by an acquisition.

use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::acquire::Patience;
use crate::client::Client;
use crate::cohort::{self, Grant};
use crate::error::{LockError, Phase};
use crate::events::Attempt;
use crate::lease::LeaseState;
use crate::session::drive::Contention;

use super::Hold;
use super::door::Door;
use super::entry::Relation;
use super::scope::nearest;
use super::spanned::{self, Spanned};
use super::waiting::{confirm, turn_of};

impl Door {
    /// Enters the lock, waiting for at most `wait`.
    pub(crate) async fn enter(&self, client: &Client, wait: Duration) -> Result<Vec<Hold>, LockError> {
        let path = self.path.relative();
        match enter(client, self, Patience::within(wait, path)?, None).await? {
            Some(holds) => Ok(holds),
            // Not expected: only an attempt that does not wait returns `None`.
            None => Err(LockError::Timeout {
                path: path.to_owned(),
                waited: wait,
                phase: Phase::Queued,
                holder: None,
            }),
        }
    }

    /// Enters the lock without waiting for other holders.
    pub(crate) async fn try_enter(&self, client: &Client) -> Result<Option<Vec<Hold>>, LockError> {
        enter(client, self, Patience::new(client.default_wait(), Contention::Leave), None).await
    }
}

/// Enters a lock again if the current call holds it, and acquires it otherwise.
///
/// Returns `Ok(None)` if others have it and the caller does not want to wait. `group` is the id of the call if it takes
/// several locks.
pub(crate) async fn enter(
    client: &Client,
    door: &Door,
    patience: Patience,
    group: Option<u64>,
) -> Result<Option<Vec<Hold>>, LockError> {
    let started = Instant::now();
    let patience = || patience.spent(started.elapsed());
    while let Some((outer, relation)) = nearest(client, door) {
        let path = || door.path.relative().to_owned();
        let again = match relation {
            Relation::Again(again) => again,
            Relation::Upgrade => return Err(LockError::Upgrade { path: path() }),
            Relation::Reentrant => return Err(LockError::Reentrant { path: path() }),
        };
        let (tenure, child) = (outer.tenure().clone(), outer.child.clone());
        // Waiting for a hold must not keep it alive.
        let outer = Arc::downgrade(&{ outer });
        let permit = match child.clone().try_acquire_many_owned(again.permits()) {
            Ok(permit) => permit,
            Err(_) if patience().contention == Contention::Leave => return Ok(None),
            Err(_) => turn_of(client, &door.path, (child, again), patience()).await?,
        };
        if outer.strong_count() == 0 {
            // The hold ended meanwhile. Another hold of this lock may be around it.
            continue;
        }
        match tenure.state() {
            LeaseState::Held => {}
            LeaseState::Lost(reason) => return Err(tenure.lost_error(reason)),
            LeaseState::Suspended => {
                let confirmed = confirm(client, &tenure, patience()).await;
                if outer.strong_count() > 0 {
                    confirmed?;
                }
            }
        }
        if let Some(outer) = outer.upgrade() {
            return Ok(Some(vec![outer.enter_again(door.entry, permit)]));
        }
    }
    let Some(grants) = acquire(client, door, patience, group).await? else { return Ok(None) };
    let span = spanned::open(door, &grants);
    let spanned = grants.into_iter().map(|grant| {
        let part = Spanned::part(span.as_ref(), &grant);
        Hold::first(client, door.entry, (grant, part))
    });
    Ok(Some(spanned.collect()))
}

/// Makes one attempt to acquire a lock, and reports its life to the listeners.
async fn acquire(
    client: &Client,
    door: &Door,
    patience: impl Fn() -> Patience,
    group: Option<u64>,
) -> Result<Option<Vec<Grant>>, LockError> {
    let queueing = door.queueing.unwrap_or_else(|| client.worker().settings().queueing);
    // Dropped after the wait, whose end it tells if this future is dropped.
    let attempt = Attempt::begin(client.worker().hub(), door.subject(group));
    let waited = (patience, attempt.witness());
    let outcome = cohort::enter(client, (&door.path, &door.wanted), queueing, waited).await;
    match &outcome {
        Ok(Some(grants)) => announce(attempt, grants),
        Ok(None) => attempt.contended(),
        Err(error) => attempt.failed(error),
    }
    outcome
}

/// Reports that the call holds the lock, and has the end of the hold reported.
fn announce(attempt: Attempt, grants: &[Grant]) {
    let Some(token) = grants.iter().map(|grant| grant.share().token()).min() else { return };
    for (grant, holding) in iter::zip(grants, attempt.acquired(token, grants.len())) {
        grant.share().announce(holding);
    }
}
