//! Writes that are applied only while their leader leads.

use std::sync::Arc;
use std::time::Duration;

use crate::current::Current;
use crate::error::LockError;
use crate::once;

use super::Leadership;

impl Leadership {
    /// Replaces the data of the node at `path`, if and only if this client still leads at that moment.
    ///
    /// See [`MutexGuard::set_data`](crate::MutexGuard::set_data).
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::set_data`](crate::MutexGuard::set_data).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn set_data(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().set_data(path, data).await
    }

    /// Creates a persistent node at `path`, if and only if this client still leads at that moment.
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::create`](crate::MutexGuard::create).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn create(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().create(path, data).await
    }

    /// Deletes the node at `path`, if and only if this client still leads at that moment.
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::delete`](crate::MutexGuard::delete).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.current().delete(path).await
    }

    /// Replaces the data of the node at `path`, or creates the node and its missing parents, if and only if this client
    /// still leads at that moment.
    ///
    /// See [`MutexGuard::upsert`](crate::MutexGuard::upsert).
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::upsert`](crate::MutexGuard::upsert).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let term = client.leader("/leader")?.leadership().await?;
    /// term.upsert("/reports/last", "2026-11").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn upsert(&self, path: &str, data: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.current().upsert(path, data).await
    }

    /// Returns the data of the node at `path`, or `None` if there is no such node, as of a moment at which no other
    /// client led.
    ///
    /// See [`MutexGuard::get`](crate::MutexGuard::get).
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::get`](crate::MutexGuard::get).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let term = client.leader("/leader")?.leadership().await?;
    /// let last = term.get("/reports/last").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get(&self, path: &str) -> Result<Option<Vec<u8>>, LockError> {
        self.current().get(path).await
    }

    /// Returns whether this leader may now start work that starts at most once per `period` in the whole
    /// fleet.
    ///
    /// See [`MutexGuard::once_per`](crate::MutexGuard::once_per).
    ///
    /// # Errors
    ///
    /// The same as [`MutexGuard::once_per`](crate::MutexGuard::once_per).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may begin the period although no work has started.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: zklock_core::Client) -> Result<(), zklock_core::LockError> {
    /// let term = client.leader("/leader")?.leadership().await?;
    /// if term.once_per("/ticks/invoices", std::time::Duration::from_secs(900)).await? {
    ///     // … send invoices …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn once_per(&self, tick: &str, period: Duration) -> Result<bool, LockError> {
        self.check()?;
        let (term, shares) = (self.clone(), vec![self.term.share.clone()]);
        once::start(&self.term.worker, shares, move || term.check(), (tick, period)).await
    }

    pub(super) fn current(&self) -> Current {
        Current::of_term(Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use crate::lease::writes::Writing;
    use crate::{Config, Heartbeat};

    #[tokio::test]
    async fn a_write_of_a_leader_is_under_way_until_it_is_answered_and_doubtful_without_an_answer() {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        // Heartbeats that are transactions could be taken for the write.
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        let client = config.connect().await.unwrap();
        let latch = client.leader("/a").unwrap();
        let term = latch.leadership().await.unwrap();
        let writing = || term.term.share.tenure().writes().state();
        let held = proxy.on_reply(Opcode::MULTI).hold();
        let mut write = Box::pin(term.create("/data", "x"));
        assert!(poll!(&mut write).is_pending());
        assert_eq!(writing(), Writing::UnderWay);
        held.release();
        write.await.unwrap();
        assert_eq!(writing(), Writing::Idle);
        proxy.on_reply(Opcode::MULTI).cut(How::Rst);
        term.set_data("/data", "y").await.unwrap_err();
        assert_eq!(writing(), Writing::Doubtful);
    }
}
