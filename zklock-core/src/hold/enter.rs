//! Enters a lock, either again in memory or by an acquisition.

use std::iter;
use std::time::{Duration, Instant};

use crate::acquire::Patience;
use crate::client::Client;
use crate::cohort::{self, Grant, Grants};
use crate::error::{LockError, Phase};
use crate::events::Attempt;
use crate::lease::LeaseState;
use crate::path::NodePath;
use crate::session::drive::Contention;

use super::door::Door;
use super::entry::{Entry, Relation};
use super::node::Place;
use super::scope::nearest;
use super::spanned::{self, Spanned};
use super::waiting::{confirm, turn_of};
use super::{Hold, Holds};

impl Door {
    /// Enters the lock, waiting for at most `wait`.
    pub(crate) async fn enter(&self, client: &Client, wait: Duration) -> Result<Holds, LockError> {
        if !wait.is_zero()
            && let Some(hold) = self.again(client)
        {
            return Ok(hold);
        }
        // Boxed, so that the futures of calls that enter again are small.
        Box::pin(self.enter_slowly(client, wait)).await
    }

    /// Enters the lock again if the current call holds it and nothing is in the way.
    #[inline]
    fn again(&self, client: &Client) -> Option<Holds> {
        enter_again(client, &self.path, self.entry)
    }

    /// Enters the lock, waiting for at most `wait`. The future is larger than that of [`enter`](Self::enter).
    async fn enter_slowly(&self, client: &Client, wait: Duration) -> Result<Holds, LockError> {
        let path = self.path.relative();
        match enter(client, self, Patience::within(wait, path)?, || self.attempt(client, None)).await? {
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
    pub(crate) async fn try_enter(&self, client: &Client) -> Result<Option<Holds>, LockError> {
        if let Some(hold) = self.again(client) {
            return Ok(Some(hold));
        }
        let patience = Patience::new(client.default_wait(), Contention::Leave);
        Box::pin(enter(client, self, patience, || self.attempt(client, None))).await
    }

    /// Begins an attempt to acquire the lock. `group` is the id of the call if it takes several locks.
    pub(crate) fn attempt(&self, client: &Client, group: Option<u64>) -> Attempt {
        Attempt::begin(client.worker().hub(), self.subject(group))
    }
}

/// Enters a lock again if the current call holds it and nothing is in the way.
#[inline]
pub(crate) fn enter_again(client: &Client, path: &NodePath, entry: Entry) -> Option<Holds> {
    let (node, relation) = nearest(client, (path, entry))?;
    let Relation::Again(again) = relation else { return None };
    if !node.gate.admit(again) {
        return None;
    }
    let is_held = node.tenure().state() == LeaseState::Held;
    let hold = if is_held { Hold::inside(&node, entry, again) } else { None };
    if hold.is_none() {
        node.gate.leave(again);
    }
    hold.map(Holds::One)
}

/// Enters a lock again if the current call holds it, and acquires it otherwise.
///
/// Returns `Ok(None)` if others have it and the caller does not want to wait. `begin` begins the attempt to acquire it.
pub(crate) async fn enter(
    client: &Client,
    door: &Door,
    patience: Patience,
    begin: impl FnOnce() -> Attempt,
) -> Result<Option<Holds>, LockError> {
    let started = Instant::now();
    let patience = || patience.spent(started.elapsed());
    while let Some((outer, relation)) = nearest(client, (&door.path, door.entry)) {
        let path = || door.path.relative().to_owned();
        let again = match relation {
            Relation::Again(again) => again,
            Relation::Upgrade => return Err(LockError::Upgrade { path: path() }),
            Relation::Reentrant => return Err(LockError::Reentrant { path: path() }),
        };
        if !outer.gate.admit(again) {
            if patience().contention == Contention::Leave {
                return Ok(None);
            }
            // Waiting for a hold does not keep it alive.
            let queue = (outer.gate.queue().clone(), again);
            turn_of(client.worker(), &door.path, queue, patience()).await?;
        }
        let place = Place::admitted(outer, again);
        let outer = place.node();
        if outer.is_over() {
            // The hold ended meanwhile. Another hold of this lock may be around it.
            continue;
        }
        let tenure = outer.tenure();
        match tenure.state() {
            LeaseState::Held => {}
            LeaseState::Lost(reason) => return Err(tenure.lost_error(reason)),
            LeaseState::Suspended => {
                let confirmed = confirm(client.worker(), tenure, patience()).await;
                if !outer.is_over() {
                    confirmed?;
                }
            }
        }
        if let Some(ties) = Hold::join(outer, door.entry) {
            return Ok(Some(Holds::One(Hold::placed(ties, door.entry, (place, None)))));
        }
    }
    let Some(grants) = acquire(client, door, patience, begin()).await? else { return Ok(None) };
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
    attempt: Attempt,
) -> Result<Option<Grants>, LockError> {
    let queueing = door.queueing.unwrap_or_else(|| client.worker().settings().queueing);
    // The attempt is dropped after the wait, whose end it tells if this future is dropped.
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
pub(super) fn announce(attempt: Attempt, grants: &[Grant]) {
    let Some(token) = grants.iter().map(|grant| grant.share().token()).min() else { return };
    for (grant, holding) in iter::zip(grants, attempt.acquired(token, grants.len())) {
        grant.share().announce(holding);
    }
}
