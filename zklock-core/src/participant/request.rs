//! Asks a participant to release its lock, or removes its node.

use std::sync::Arc;

use crate::client::Client;
use crate::error::LockError;
use crate::session::Session;
use crate::session::fault::Fault;
use crate::session::sentry::REVOKE;

use super::Participant;

impl Client {
    /// Asks a holder to release its lock; see [`MutexGuard::revoked`](crate::MutexGuard::revoked).
    ///
    /// The holder decides whether it releases. On the wire it is Curator's `Revoker`, so that holders in Java
    /// that made their lock revocable are asked too. It is not an error if the participant is already gone.
    ///
    /// # Errors
    ///
    /// * [`LockError::Denied`] if this client may not write to the participant's node.
    /// * [`LockError::Timeout`] if the servers do not answer within the client's default wait.
    /// * [`LockError::OutcomeUnknown`] if the connection broke.
    /// * [`LockError::Closed`] if the client is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn revoke(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let ask = move |session: Arc<Session>| async move {
            match session.ops().write(&node, REVOKE, None).await {
                Err(Fault::NoNode) => Ok(()),
                outcome => outcome,
            }
        };
        self.worker().ask(&queue, ask).await
    }

    /// Deletes a participant's node by force, whether it holds the lock or waits for it.
    ///
    /// The lock passes to the next contender at once. A holder that uses zklock learns of its loss only
    /// afterwards: until then, only the fencing token and guarded writes distinguish it from the next holder.
    /// A waiter enters the queue again, at its tail. One that has waited for less than a second does so when
    /// the contender in front of it leaves; later it watches its own node, and does so at once. It is not an
    /// error if the participant is already gone.
    ///
    /// # Errors
    ///
    /// Those of [`revoke`](Self::revoke).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn break_lock(&self, participant: &Participant) -> Result<(), LockError> {
        let queue = self.path(&participant.path)?;
        let node = queue.child(&participant.node);
        let delete = move |session: Arc<Session>| async move { session.ops().delete(&node).await };
        self.worker().ask(&queue, delete).await
    }
}
