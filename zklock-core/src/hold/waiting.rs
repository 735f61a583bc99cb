//! The waits of an inner entry on the client's thread: for its siblings, and for a lease to be confirmed.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::acquire::Patience;
use crate::client::Client;
use crate::error::{Holder, LockError, Phase};
use crate::lease::Tenure;
use crate::path::NodePath;

use super::entry::Again;

/// Waits until the siblings in front have ended. The wait runs on the client's thread, whose clock
/// does not depend on the caller's runtime.
pub(super) async fn turn_of(
    client: &Client,
    path: &NodePath,
    (child, again): (Arc<Semaphore>, Again),
    patience: Patience,
) -> Result<OwnedSemaphorePermit, LockError> {
    let (mut reply, answer) = oneshot::channel();
    client.worker().spawn(async move {
        let permit = tokio::select! {
            permit = timeout(patience.left(), child.acquire_many_owned(again.permits())) => permit,
            () = reply.closed() => return,
        };
        // If the caller is gone by now, the permit is dropped with the answer.
        drop(reply.send(permit));
    });
    let path = || path.relative().to_owned();
    match answer.await {
        Ok(Ok(Ok(permit))) => Ok(permit),
        Ok(Err(_)) => {
            let holder = Some(Holder::this_client(1));
            Err(LockError::Timeout { path: path(), waited: patience.wait, phase: Phase::Sibling, holder })
        }
        Ok(Ok(Err(_))) | Err(_) => Err(LockError::Closed { path: path() }),
    }
}

/// Asks the servers whether the lock is held, until they answer or the patience is spent.
pub(crate) async fn confirm(
    client: &Client,
    tenure: &Arc<Tenure>,
    patience: Patience,
) -> Result<(), LockError> {
    let asked = tenure.clone();
    let answer = client.worker().call(patience.left(), async move { asked.settle().await }).await;
    tenure.check()?;
    answer.map_err(|unanswered| unanswered.into_error(tenure.path(), patience.wait))
}
