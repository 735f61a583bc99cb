//! Enters a lock: inside of an entry of the same call, or by an acquisition.

use std::iter;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::client::Client;
use crate::deadline::{Contention, Deadline};
use crate::error::{Holder, LockError, Phase};
use crate::events::{Attempt, HoldSpan};
use crate::local_queue::{self, Grant};
use crate::time::{Elapsed, timeout};

use super::lock_ref::{LockRef, Reentry};
use super::scope::nearest;
use super::{Entry, Hold};

/// Enters a lock again if the current call holds it, and acquires it otherwise. Returns `None` if others have it and the
/// caller does not want to wait. `group` is the id of a call that takes several locks.
pub(crate) async fn enter(
    client: &Client,
    lock: &LockRef,
    deadline: Deadline,
    group: Option<u64>,
) -> Result<Option<Vec<Hold>>, LockError> {
    client.worker().check_process(&lock.path)?;
    while let Some((outer, reentry)) = nearest(client, lock) {
        let path = || lock.path.relative().to_owned();
        let permits = match reentry {
            Reentry::Inside(permits) => permits,
            Reentry::Upgrade => return Err(LockError::Upgrade { path: path() }),
            Reentry::Deadlock => return Err(LockError::Reentrant { path: path() }),
        };
        let permit = admit((&outer, permits), deadline).await?;
        // If the outer entry has ended meanwhile, another one may be around it.
        let Some(permit) = permit else { if outer.is_over() { continue } else { return Ok(None) } };
        if let Some(hold) = outer.join(lock.access, permit) {
            hold.lease().check()?;
            return Ok(Some(vec![hold]));
        }
    }
    // Boxed, so that the futures of calls that enter again are small.
    Box::pin(acquire(client, lock, deadline, group)).await
}

async fn acquire(
    client: &Client,
    lock: &LockRef,
    deadline: Deadline,
    group: Option<u64>,
) -> Result<Option<Vec<Hold>>, LockError> {
    let attempt = Attempt::begin(client.worker().events(), lock.subject(group));
    match local_queue::enter(client, (&lock.path, &lock.wanted), deadline, &attempt.witness()).await {
        Ok(Some(grants)) => Ok(Some(first_holds(client, lock, attempt, grants.into_iter().collect()))),
        Ok(None) => {
            attempt.contended();
            Ok(None)
        }
        Err(error) => {
            attempt.failed(&error);
            Err(error)
        }
    }
}

/// Returns the holds of an acquired lock, with their span. The listeners are told when they end.
fn first_holds(client: &Client, lock: &LockRef, attempt: Attempt, grants: Vec<Arc<Grant>>) -> Vec<Hold> {
    let Some(token) = grants.iter().map(|grant| grant.share().token()).min() else { return Vec::new() };
    for (grant, holding) in iter::zip(&grants, attempt.acquired(token, grants.len())) {
        grant.share().announce(holding);
    }
    let span = HoldSpan::begin(&lock.subject(None), token).map(Arc::new);
    grants.into_iter().map(|grant| Hold::first(client, lock.access, grant, span.clone())).collect()
}

/// Waits until the siblings in front have ended. Returns `None` if there are some and the caller does not want to wait.
///
/// The wait does not keep the lock. The end of the outer entry does not end the wait: the caller looks again behind it.
pub(super) async fn admit(
    (outer, permits): (&Entry, u32),
    deadline: Deadline,
) -> Result<Option<OwnedSemaphorePermit>, LockError> {
    let gate = outer.gate().clone();
    if let Ok(permit) = gate.clone().try_acquire_many_owned(permits) {
        return Ok(Some(permit));
    }
    if deadline.contention == Contention::Leave {
        return Ok(None);
    }
    let lease = outer.lease();
    match timeout(deadline.left(), gate.acquire_many_owned(permits)).await {
        Ok(permit) => Ok(Some(permit.unwrap_or_else(|_| unreachable!("the gate is never closed")))),
        Err(Elapsed) => {
            let (path, holder) = (lease.path().relative().to_owned(), Some(Holder::this_client(1)));
            Err(LockError::Timeout { path, waited: deadline.wait, phase: Phase::Sibling, holder })
        }
    }
}
