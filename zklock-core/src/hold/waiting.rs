//! The waits of an inner entry on the client's thread: for its siblings, and for a lease to be confirmed.

use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::acquire::Patience;
use crate::client::worker::Worker;
use crate::error::{Holder, LockError, Phase};
use crate::lease::Tenure;
use crate::path::NodePath;

use super::entry::Again;

/// Waits until the siblings in front have ended, and admits the entry. The wait runs on the client's thread, whose clock
/// does not depend on the caller's runtime.
pub(super) async fn turn_of(
    worker: &Worker,
    path: &NodePath,
    (queue, again): (Arc<Semaphore>, Again),
    patience: Patience,
) -> Result<(), LockError> {
    let (mut reply, answer) = oneshot::channel();
    worker.spawn(async move {
        let permit = tokio::select! {
            permit = timeout(patience.left(), queue.acquire_many_owned(again.permits())) => permit,
            () = reply.closed() => return,
        };
        // If the caller is gone by now, the permit is dropped with the answer.
        drop(reply.send(permit));
    });
    match answer.await {
        Ok(Ok(Ok(permit))) => {
            permit.forget();
            Ok(())
        }
        Ok(Err(_)) => {
            let holder = Some(Holder::this_client(1));
            Err(LockError::Timeout {
                path: path.relative().to_owned(),
                waited: patience.wait,
                phase: Phase::Sibling,
                holder,
            })
        }
        Ok(Ok(Err(_))) | Err(_) => Err(worker.closed(path)),
    }
}

/// Asks the servers whether the lock is held, until they answer or the patience is spent.
pub(crate) async fn confirm(
    worker: &Worker,
    tenure: &Arc<Tenure>,
    patience: Patience,
) -> Result<(), LockError> {
    let asked = tenure.clone();
    let answer = worker.call(patience.left(), async move { asked.settle().await }).await;
    tenure.check()?;
    answer.map_err(|unanswered| unanswered.into_error(tenure.path(), patience.wait))
}
