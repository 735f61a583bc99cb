//! Makes a writer a reader.

use crate::acquire::Patience;
use crate::error::LockError;
use crate::session::drive::Contention;

use super::{ReadGuard, WriteGuard};

impl WriteGuard {
    /// Downgrades to a read guard, without letting another writer acquire the lock in between.
    ///
    /// Other readers may then share the lock. One transaction replaces the writer's node by a reader's node
    /// with the same sequence number, as Curator does since 5.5 (CURATOR-621). The fencing token stays the
    /// same. Inside another write guard of the same logical call, the lock stays exclusive until that guard
    /// is released.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock was lost.
    /// * [`LockError::Timeout`] if a writer inside this guard does not end within the client's default wait,
    ///   or the server does not answer within it.
    /// * [`LockError::Denied`], [`LockError::Refused`] if the server does not let this client replace its
    ///   node.
    ///
    /// After an error the lock is released in the background.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future releases the lock in the background.
    pub async fn downgrade(self) -> Result<ReadGuard, LockError> {
        self.check()?;
        let patience = Patience::new(self.client().default_wait(), Contention::Wait);
        let mut readers = Vec::new();
        for writer in self.holds() {
            readers.push(writer.enter_to_read(patience).await?);
        }
        let reader = ReadGuard::new(readers.into_iter().collect());
        self.release().await?;
        Ok(reader)
    }
}
