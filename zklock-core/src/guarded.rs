//! Writes that are applied only while a lock is held or a term lasts, and reads as of a moment at which it was so.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{LockError, LossReason, Phase, Refusal};
use crate::held::Held;
use crate::lease::{Share, WritePermit};
use crate::path::NodePath;
use crate::session::request_error::RequestError;
use crate::session::requests::{Guarded, Write};
use crate::time::sleep;

impl Held {
    /// Replaces the data of the node at `path` if and only if the lock is held, or the term lasts, at that moment.
    ///
    /// The server checks the holder's own node in the same transaction, so a holder that lost the lock
    /// without knowing it cannot write. `path` is an absolute path below the client's namespace. The request, which
    /// contains the data, `path` and the paths of the holder's nodes, has at most 1,048,575 bytes, the default of the
    /// servers' `jute.maxbuffer`. A longer one is refused before anything is sent.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost or given back, or the term is over; the write was not applied.
    /// * [`LockError::Refused`], [`LockError::Denied`] or [`LockError::InvalidPath`]; the write was not
    ///   applied. The refusal is [`Refusal::NoNode`] if the node does not exist.
    /// * [`LockError::OutcomeUnknown`] if the connection broke, the session ended or the client was shut down
    ///   meanwhile, or no answer came within the client's default wait. The write may have been applied, but only
    ///   while the lock was held, or the term lasted.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_data(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::SetData(data.into())).await
    }

    /// Creates a persistent node at `path` if and only if the lock is held, or the term lasts, at that moment.
    ///
    /// `path` and `data` have the limits of [`set_data`](Self::set_data).
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NodeExists`] if the
    /// node exists, and [`Refusal::NoNode`] if its parent does not.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn create(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::Create(data.into())).await
    }

    /// Deletes the node at `path` if and only if the lock is held, or the term lasts, at that moment.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NoNode`] if the node does
    /// not exist, and [`Refusal::NotEmpty`] if it has children.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.write(path, Write::Delete).await
    }

    /// Replaces the data of the node at `path`, or creates the node, if and only if the lock is held, or the term lasts, at
    /// that moment.
    ///
    /// Missing parents are created as well, as persistent nodes without data. Each request is guarded like
    /// [`set_data`](Self::set_data), which also states the limits of `path` and `data`. A node that exists takes
    /// one request. A node that does not exist takes a second one, and one more for each missing parent. If other
    /// clients create and delete the same node meanwhile, the answer to each request decides the next one, until the
    /// client's default wait is over.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data), and [`LockError::Timeout`] if the client's default wait is over after a
    /// request that was refused because the node or a parent was missing, or existed already; nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/jobs/7")?.lock().await?;
    /// guard.upsert("/ledgers/7/last", "paid").await?;
    /// assert_eq!(guard.get("/ledgers/7/last").await?.as_deref(), Some(&b"paid"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn upsert(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        let (started, within) = (Instant::now(), self.worker().default_wait());
        let mut write = Write::SetData(data.into());
        loop {
            let left = within.saturating_sub(started.elapsed());
            if left.is_zero() {
                let (path, phase) = (path.to_owned(), Phase::Requesting);
                return Err(LockError::Timeout { path, waited: within, phase, holder: None });
            }
            match self.write_within(self.permit()?, left, (path, write.clone())).await {
                Err(LockError::Refused { path, refusal }) => match next_write(write, &refusal) {
                    Some(next) => write = next,
                    None => return Err(LockError::Refused { path, refusal }),
                },
                // No request is sent after one whose outcome is unknown.
                outcome => return outcome,
            }
        }
    }

    /// Returns the data of the node at `path`, or `None` if there is no such node, as of a moment at which the lock
    /// was held, or the term lasted.
    ///
    /// The server looks for the holder's own node right behind the read, in the same round trip. Under a lock that only
    /// one call holds, the data therefore contains every guarded write of earlier holders, and no write of a later one.
    /// `path` is an absolute path below the client's namespace.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost or given back, or the term is over, even if the data was read before.
    /// * [`LockError::Denied`], [`LockError::Refused`] or [`LockError::InvalidPath`].
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait. After a broken
    ///   connection, the client reads again until then.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let guard = client.mutex("/counters/7")?.lock().await?;
    /// let read = guard.get("/counters/7/value").await?.unwrap_or_default();
    /// let value: u64 = String::from_utf8_lossy(&read).parse().unwrap_or(0);
    /// guard.upsert("/counters/7/value", (value + 1).to_string()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get(&self, path: &str) -> Result<Option<Vec<u8>>, LockError> {
        self.check()?;
        let path = NodePath::new(self.worker().root(), path)?;
        let (worker, answer) = (self.worker(), read_until_answered(self.shares(), path.clone()));
        let read = worker.call(&path, worker.default_wait(), answer).await;
        // A loss may be known only since the answer.
        self.check()?;
        read
    }

    async fn write(&self, path: &str, write: Write) -> Result<(), LockError> {
        self.write_within(self.permit()?, self.worker().default_wait(), (path, write)).await
    }

    /// Writes to `path`, below the client's namespace. Waits for at most `within` for the answer.
    async fn write_within(
        &self,
        permit: WritePermit,
        within: Duration,
        (path, write): (&str, Write),
    ) -> Result<(), LockError> {
        let target = NodePath::new(self.worker().root(), path)?;
        let (held, about) = (self.clone(), target.clone());
        let sent = async move {
            let answer = held.send(permit, &about, &write).await?;
            answer.map(drop).map_err(|error| error.into_error(about.relative()))
        };
        let unknown = |reason: String| RequestError::Unknown(reason).into_error(path);
        self.worker().call(&target, within, sent).await.map_err(|error| match error {
            // The write may have been sent, and be applied later.
            LockError::Timeout { .. } => unknown(format!("no answer within {within:?}")),
            LockError::Closed { .. } => RequestError::SessionOver.into_error(path),
            error => error,
        })
    }

    /// Sends a write in one transaction with a check of the leases' nodes. Fails if the lock is lost or given back, or the
    /// term is over.
    ///
    /// The names of the nodes are read in the same step in which the transaction is sent: a downgrade under way
    /// replaces its node either before that or after the write.
    pub(crate) async fn send(
        &self,
        permit: WritePermit,
        target: &NodePath,
        write: &Write,
    ) -> Result<Result<Option<i64>, RequestError>, LockError> {
        let shares = self.shares();
        let requests = shares[0].lease().session().requests();
        let guards = permit.ready().await?;
        // A term may have ended while there was no connection, although its node is there.
        self.check()?;
        match permit.send(requests.guarded(guards, target.full(), write)).await {
            Ok(Guarded::Applied(written)) => Ok(Ok(written)),
            Ok(Guarded::Unguarded(index)) => Err(lost(&shares[index], LossReason::NodeDeleted)),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Returns the error of a lost lease, and marks it as lost, unless its holder has given it back before: the request may go on
/// without its caller.
fn lost(share: &Share, reason: LossReason) -> LockError {
    let lease = share.lease();
    share.check().err().unwrap_or_else(|| lease.lost_error(lease.lose(reason)))
}

/// Returns the error of a request about `path` under these leases. Marks them as lost if their session is over.
pub(crate) fn failed(shares: &[Arc<Share>], path: &NodePath, error: RequestError) -> LockError {
    match error {
        RequestError::SessionOver => lost(&shares[0], LossReason::SessionEnded),
        error => error.into_error(path.relative()),
    }
}

/// Returns the write of an upsert that may succeed after the refusal of this one, or `None` if there is none.
fn next_write(refused: Write, refusal: &Refusal) -> Option<Write> {
    match (refused, refusal) {
        (Write::SetData(data), Refusal::NoNode) => Some(Write::CreateBelow { parents: 0, data }),
        (Write::CreateBelow { parents, data }, Refusal::NoNode) => {
            Some(Write::CreateBelow { parents: parents + 1, data })
        }
        // The node exists, or one of the parents does.
        (Write::CreateBelow { data, .. }, Refusal::NodeExists) => Some(Write::SetData(data)),
        _ => None,
    }
}

/// Reads a node as of a moment at which all of these leases were held, until there is an answer. The caller bounds the time,
/// and checks the leases before and after.
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
            Err(RequestError::Unknown(_)) => sleep(PAUSE).await,
            Err(error) => return Err(failed(&shares, &target, error)),
        }
    }
}

/// The pause after a read without an answer.
const PAUSE: Duration = Duration::from_millis(20);
