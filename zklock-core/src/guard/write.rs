//! Writes that are applied only while the lock is held.

use std::sync::Arc;

use futures_util::future::select_all;

use crate::client::worker::{Unanswered, Worker};
use crate::error::{LockError, LossReason, Refusal};
use crate::lease::Tenure;
use crate::path::NodePath;
use crate::session::fault::Fault;
use crate::session::ops::{Guarded, Write};

use super::Guard;

impl<K> Guard<K> {
    /// Replaces the data of the node at `path` if and only if the lock is held at that moment.
    ///
    /// The server checks this guard's own node in the same transaction, so a holder that lost the lock
    /// without knowing it cannot write. `path` is an absolute path below the client's namespace. The data
    /// must be shorter than 1,000,000 bytes.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost; the write was not applied.
    /// * [`LockError::Refused`], [`LockError::Denied`] or [`LockError::InvalidPath`]; the write was not
    ///   applied.
    /// * [`LockError::OutcomeUnknown`] if the connection broke, or no answer came within the client's default
    ///   wait. The write may have been applied, but only while the lock was held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_data(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::SetData(data.into())).await
    }

    /// Creates a persistent node at `path` if and only if the lock is held at that moment.
    ///
    /// `path` and `data` have the limits of [`set_data`](Self::set_data).
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NodeExists`] if the node exists, and
    /// [`Refusal::NoNode`] if its parent does not.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn create(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.write(path, Write::Create(data.into())).await
    }

    /// Deletes the node at `path` if and only if the lock is held at that moment.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NoNode`] if the node does not exist,
    /// and [`Refusal::NotEmpty`] if it has children.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.write(path, Write::Delete).await
    }

    async fn write(&self, path: &str, write: Write) -> Result<(), LockError> {
        self.check()?;
        let tenures = self.holds.iter().map(|hold| hold.tenure().clone()).collect();
        write_under(self.client.worker(), tenures, path, write).await
    }
}

/// Writes to `path`, below the client's namespace, if all of the leases are held at that moment.
pub(crate) async fn write_under(
    worker: &Worker,
    tenures: Vec<Arc<Tenure>>,
    path: &str,
    write: Write,
) -> Result<(), LockError> {
    let target = NodePath::new(worker.root(), path)?;
    check_size(&write, path)?;
    let within = worker.default_wait();
    let full = target.full().to_owned();
    let asked = tenures.clone();
    let request = async move { guarded(&asked, &full, &write).await };
    match worker.call(within, request).await {
        Ok(Ok(Guarded::Applied)) => Ok(()),
        Ok(Ok(Guarded::Unguarded(index))) => {
            let tenure = &tenures[index];
            Err(tenure.lost_error(tenure.lose(LossReason::NodeDeleted)))
        }
        Ok(Err(fault)) => Err(fault.into_error(path)),
        Err(Unanswered::InTime) => {
            Err(Fault::Unknown(format!("no answer within {within:?}")).into_error(path))
        }
        Err(Unanswered::Ended) => Err(Fault::SessionOver.into_error(path)),
    }
}

/// Sends the write in one transaction with a check of the leases' nodes.
///
/// The names of the nodes are read in the same step in which the transaction is sent: a downgrade under way
/// replaces its node either before that or after the write.
async fn guarded(tenures: &[Arc<Tenure>], path: &str, write: &Write) -> Result<Guarded, Fault> {
    let Some(first) = tenures.first() else {
        return Ok(Guarded::Applied);
    };
    let lost = select_all(tenures.iter().map(|tenure| Box::pin(tenure.lost())));
    let nodes = tokio::select! {
        biased;
        nodes = Tenure::nodes(tenures) => nodes,
        (_, index, _) = lost => return Ok(Guarded::Unguarded(index)),
    };
    first.session().ops().guarded(&nodes, path, write).await
}

/// Refuses data so long that the server would close the connection.
fn check_size(write: &Write, path: &str) -> Result<(), LockError> {
    match write {
        Write::SetData(data) | Write::Create(data) if data.len() >= LONGEST_DATA => {
            let reason = format!("{} bytes of data are too many", data.len());
            Err(LockError::Refused { path: path.to_owned(), refusal: Refusal::Other(reason) })
        }
        _ => Ok(()),
    }
}

/// Less than the servers' default `jute.maxbuffer`.
const LONGEST_DATA: usize = 1_000_000;
