//! Asks a participant to leave, or removes it.

use std::sync::Arc;

use crate::client::Client;
use crate::error::LockError;
use crate::lease::REVOKE;
use crate::session::Session;
use crate::session::fault::Fault;

use super::Participant;

impl Client {
    /// Asks a holder to release its lock; see [`MutexGuard::revoked`](crate::MutexGuard::revoked).
    ///
    /// The holder decides. On the wire it is Curator's `Revoker`, so that holders in Java are asked too, who
    /// made their lock revocable. A participant that is gone needs not be asked, which is no error.
    ///
    /// # Errors
    ///
    /// [`LockError::Denied`], [`LockError::Timeout`] after the client's default wait, [`LockError::Closed`], or
    /// [`LockError::OutcomeUnknown`] where the connection broke.
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

    /// Takes a participant's place away by force, whether it holds the lock or waits for it.
    ///
    /// The lock is handed on at once; a holder that uses zklock learns only then that it lost it, so for that
    /// moment nothing but the fencing token and guarded writes tell the two apart. One that waits enters the
    /// queue again at its tail. A participant that is gone is no error.
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
