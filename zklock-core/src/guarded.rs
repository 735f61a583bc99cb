//! Writes that are applied only while locks are held, and reads as of a moment at which they were.
//!
//! Uses the layers below: `client`, `lease`, `session`, `path` and `error`.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::worker::{Unanswered, Worker};
use crate::error::{LockError, LossReason, Phase, Refusal};
use crate::lease::{Share, WritePermit};
use crate::path::NodePath;
use crate::session::request_error::RequestError;
use crate::session::requests::{Guarded, Write};
use crate::time::sleep;

/// Writes to `path`, below the client's namespace, if all of the permit's leases are held at that moment. Waits for at most
/// `within` for the answer.
pub(crate) async fn write(
    worker: &Worker,
    permit: WritePermit,
    (path, write): (&str, Write),
    within: Duration,
) -> Result<(), LockError> {
    let target = NodePath::new(worker.root(), path)?;
    let (shares, about) = (permit.shares().to_vec(), target.clone());
    match worker.call(within, send(permit, target, write)).await {
        Ok(Ok(Guarded::Applied(_))) => Ok(()),
        Ok(Ok(Guarded::Unguarded(index))) => Err(lost(&shares[index], LossReason::NodeDeleted)),
        Ok(Err(error)) => Err(error),
        Err(Unanswered::InTime) => {
            Err(RequestError::Unknown(format!("no answer within {within:?}")).into_error(path))
        }
        Err(unanswered @ (Unanswered::Forked | Unanswered::Panicked)) => {
            Err(unanswered.into_error(&about, within))
        }
        Err(Unanswered::Ended) => Err(RequestError::SessionOver.into_error(path)),
    }
}

/// Sends the write in one transaction with a check of the leases' nodes.
///
/// The names of the nodes are read in the same step in which the transaction is sent: a downgrade under way
/// replaces its node either before that or after the write.
async fn send(
    permit: WritePermit,
    target: NodePath,
    write: Write,
) -> Result<Guarded<Option<i64>>, LockError> {
    let session = permit.shares()[0].lease().session().clone();
    let guards = permit.ready().await?;
    let answer = permit.send(session.requests().guarded(guards, target.full(), &write)).await;
    answer.map_err(|error| error.into_error(target.relative()))
}

fn lost(share: &Share, reason: LossReason) -> LockError {
    let lease = share.lease();
    lease.lost_error(lease.lose(reason))
}

/// Creates the node at `path`, below the client's namespace, or replaces its data. Each request has a permit of its
/// own.
///
/// No request is sent after one whose outcome is unknown.
pub(crate) async fn upsert(
    worker: &Worker,
    permit: impl Fn() -> Result<WritePermit, LockError>,
    path: &str,
    data: Vec<u8>,
) -> Result<(), LockError> {
    let (started, within) = (Instant::now(), worker.default_wait());
    let mut step = Step::Set;
    loop {
        let left = within.saturating_sub(started.elapsed());
        if left.is_zero() {
            let (path, phase) = (path.to_owned(), Phase::Requesting);
            return Err(LockError::Timeout { path, waited: within, phase, holder: None });
        }
        match write(worker, permit()?, (path, step.write(data.clone())), left).await {
            Err(LockError::Refused { path, refusal }) => match step.after(&refusal) {
                Some(next) => step = next,
                None => return Err(LockError::Refused { path, refusal }),
            },
            outcome => return outcome,
        }
    }
}

/// One request of such a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Replaces the data.
    Set,
    /// Creates the node, and this many of its parents.
    Create { parents: usize },
}

impl Step {
    fn write(self, data: Vec<u8>) -> Write {
        match self {
            Self::Set => Write::SetData(data),
            Self::Create { parents } => Write::CreateBelow { parents, data },
        }
    }

    /// Returns the request that may succeed after this refusal, or `None` if there is none.
    fn after(self, refusal: &Refusal) -> Option<Self> {
        match (self, refusal) {
            (Self::Set, Refusal::NoNode) => Some(Self::Create { parents: 0 }),
            (Self::Create { parents }, Refusal::NoNode) => Some(Self::Create { parents: parents + 1 }),
            // The node exists, or one of the parents does.
            (Self::Create { .. }, Refusal::NodeExists) => Some(Self::Set),
            _ => None,
        }
    }
}

/// Reads the node at `path`, below the client's namespace, as of a moment at which all of these leases were held. The
/// caller checks them before and after.
pub(crate) async fn read(
    worker: &Worker,
    shares: Vec<Arc<Share>>,
    path: &str,
) -> Result<Option<Vec<u8>>, LockError> {
    let (target, within) = (NodePath::new(worker.root(), path)?, worker.default_wait());
    let about = target.clone();
    let answer = worker.call(within, read_until_answered(shares, target)).await;
    answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(&about, within)))
}

/// Reads until there is an answer. The caller bounds the time.
async fn read_until_answered(
    shares: Vec<Arc<Share>>,
    target: NodePath,
) -> Result<Option<Vec<u8>>, LockError> {
    let session = shares[0].lease().session();
    loop {
        let permit = WritePermit::take(&shares)?;
        let guards = permit.ready().await?;
        let answer = session.requests().read_guarded(guards, target.full()).await;
        drop(permit);
        match answer {
            Ok(Guarded::Applied(data)) => return Ok(data),
            Ok(Guarded::Unguarded(index)) => return Err(lost(&shares[index], LossReason::NodeDeleted)),
            Err(RequestError::SessionOver) => return Err(lost(&shares[0], LossReason::SessionEnded)),
            Err(RequestError::Unknown(_)) => sleep(PAUSE).await,
            Err(error) => return Err(error.into_error(target.relative())),
        }
    }
}

/// The pause after a read without an answer.
const PAUSE: Duration = Duration::from_millis(20);
