//! A contender that serves one call only.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::acquire::{self, Patience, Wanted};
use crate::client::worker::Worker;
use crate::error::LockError;
use crate::events::Witness;
use crate::path::NodePath;

use super::grant::{Grant, Grants};

/// Acquires the lock, and does so again if it was lost before the caller could see the answer, such as
/// during a pause of the process. The lease is checked in the step that returns it.
pub(super) async fn enter(
    worker: &Arc<Worker>,
    path: &NodePath,
    wanted: &Wanted,
    (patience, witness): (&impl Fn() -> Patience, &Witness),
) -> Result<Option<Grants>, LockError> {
    loop {
        let acquired = acquire::acquire(worker, path, wanted.clone(), patience(), witness.clone());
        let Some(leases) = acquired.await? else { return Ok(None) };
        let Some(lost) = leases.iter().find_map(|lease| lease.tenure().check().err()) else {
            return Ok(Some(leases.into_iter().map(Grant::sole).collect()));
        };
        let left = patience().left();
        if left.is_zero() {
            return Err(lost);
        }
        // A node that is left would be in the way of an attempt that does not wait.
        let released = async move { join_all(leases.iter().map(|lease| lease.release())).await };
        worker.call(left, released).await.ok();
    }
}
