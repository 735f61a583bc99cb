//! Enters a lock, either again in memory or by an acquisition.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::acquire::{self, Patience};
use crate::client::Client;
use crate::error::{LockError, Phase};
use crate::lease::{Lease, LeaseState};
use crate::session::drive::Contention;

use super::Hold;
use super::door::Door;
use super::entry::Relation;
use super::scope::nearest;
use super::waiting::{confirm, turn_of};

impl Door {
    /// Enters the lock, waiting for at most `wait`.
    pub(crate) async fn enter(&self, client: &Client, wait: Duration) -> Result<Vec<Hold>, LockError> {
        let path = self.path.relative();
        match enter(client, self, Patience::within(wait, path)?).await? {
            Some(holds) => Ok(holds),
            // Not expected: only an attempt that does not wait returns `None`.
            None => Err(LockError::Timeout { path: path.to_owned(), waited: wait, phase: Phase::Queued }),
        }
    }

    /// Enters the lock without waiting for other holders.
    pub(crate) async fn try_enter(&self, client: &Client) -> Result<Option<Vec<Hold>>, LockError> {
        enter(client, self, Patience::new(client.default_wait(), Contention::Leave)).await
    }
}

/// Enters a lock again if the current call holds it, and acquires it otherwise.
///
/// Returns `Ok(None)` if others have it and the caller does not want to wait.
pub(crate) async fn enter(
    client: &Client,
    door: &Door,
    patience: Patience,
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
    let leases = acquire(client, door, patience).await?;
    Ok(leases.map(|leases| leases.into_iter().map(|lease| Hold::first(client, door.entry, lease)).collect()))
}

/// Acquires the lock, and does so again if it was lost before the caller could see the answer, such as
/// during a pause of the process. The lease is checked in the step that returns it.
async fn acquire(
    client: &Client,
    door: &Door,
    patience: impl Fn() -> Patience,
) -> Result<Option<Vec<Lease>>, LockError> {
    loop {
        let wanted = door.wanted.clone();
        let Some(leases) = acquire::acquire(client.worker(), &door.path, wanted, patience()).await? else {
            return Ok(None);
        };
        let Some(lost) = leases.iter().find_map(|lease| lease.tenure().check().err()) else {
            return Ok(Some(leases));
        };
        let left = patience().left();
        if left.is_zero() {
            return Err(lost);
        }
        // A node that is left would be in the way of an attempt that does not wait.
        let released = join_all(leases.into_iter().map(Lease::release));
        client.worker().call(left, released).await.ok();
    }
}
