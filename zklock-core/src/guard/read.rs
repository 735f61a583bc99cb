//! Reads of data as of a moment at which the lock was held.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::lease::{Share, WritePermit};
use crate::path::NodePath;
use crate::session::fault::Fault;
use crate::session::ops::Glimpse;

use super::Guard;

impl<K> Guard<K> {
    /// Returns the data of the node at `path`, or `None` if there is no such node, as of a moment at which the lock
    /// was held.
    ///
    /// The server looks for this guard's own node right behind the read, in the same round trip. Under a lock that only
    /// one call holds, the data therefore contains every guarded write of earlier holders, and no write of a later one.
    /// `path` is an absolute path below the client's namespace.
    ///
    /// # Errors
    ///
    /// * [`LockError::Lost`] if the lock is lost, even if the data was read before.
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
        read_under(self.client().worker(), self.shares(), path).await
    }
}

/// Reads the node at `path`, below the client's namespace, as of a moment at which all of these leases were held.
pub(crate) async fn read_under(
    worker: &Worker,
    shares: Vec<Arc<Share>>,
    path: &str,
) -> Result<Option<Vec<u8>>, LockError> {
    let (target, within) = (NodePath::new(worker.root(), path)?, worker.default_wait());
    shares.iter().try_for_each(|share| share.check())?;
    let about = target.clone();
    let answer = worker.call(within, read(shares.clone(), target)).await;
    // A loss may be known only since the answer.
    shares.iter().try_for_each(|share| share.check())?;
    answer.unwrap_or_else(|unanswered| Err(unanswered.into_error(&about, within)))
}

/// Reads until there is an answer. The caller bounds the time.
async fn read(shares: Vec<Arc<Share>>, target: NodePath) -> Result<Option<Vec<u8>>, LockError> {
    let lost = |index: usize, reason| {
        let tenure = shares[index].tenure();
        Err(tenure.lost_error(tenure.lose(reason)))
    };
    let session = shares[0].tenure().session();
    loop {
        let ready = WritePermit::take(&shares)?.ready().await?;
        match ready.ask(|guards| session.ops().read_guarded(guards, target.full())).await {
            Ok(Glimpse::Seen(data)) => return Ok(data),
            Ok(Glimpse::Unguarded(index)) => return lost(index, LossReason::NodeDeleted),
            Err(Fault::SessionOver) => return lost(0, LossReason::SessionEnded),
            Err(Fault::Unknown(_)) => sleep(PAUSE).await,
            Err(fault) => return Err(fault.into_error(target.relative())),
        }
    }
}

/// The pause after a read without an answer.
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::time::timeout;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use crate::lease::writes::Writing;
    use crate::{Config, Heartbeat, MutexGuard};

    use super::*;

    /// A holder whose only transactions are those of its reads and guarded writes.
    async fn proxied() -> (EmbeddedServer, Proxy, MutexGuard) {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        let client = config.connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        guard.create("/data", "x").await.unwrap();
        (server, proxy, guard)
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), future).await.expect("it happens within 20 s")
    }

    fn writing(guard: &MutexGuard) -> Writing {
        guard.holds[0].tenure().writes().state()
    }

    #[tokio::test]
    async fn data_that_was_read_before_the_node_was_deleted_is_not_returned_after_it() {
        let (server, proxy, guard) = proxied().await;
        // The read is answered, and the look for the node is not sent yet.
        let held = proxy.on_request(Opcode::MULTI).hold();
        let mut read = Box::pin(guard.get("/data"));
        assert!(poll!(&mut read).is_pending());
        soon(held.struck()).await;
        server.delete("/a");
        held.release();
        let read = soon(read).await;
        assert!(matches!(read, Err(LockError::Lost { .. })), "{read:?}");
    }

    #[tokio::test]
    async fn data_is_not_returned_after_a_loss_that_became_known_during_the_read() {
        let (_server, proxy, guard) = proxied().await;
        let held = proxy.on_reply(Opcode::MULTI).hold();
        let mut read = Box::pin(guard.get("/data"));
        assert!(poll!(&mut read).is_pending());
        soon(held.struck()).await;
        guard.holds[0].tenure().lose(LossReason::LeaseExpired);
        held.release();
        let read = soon(read).await;
        assert!(matches!(read, Err(LockError::Lost { reason: LossReason::LeaseExpired, .. })), "{read:?}");
    }

    #[tokio::test]
    async fn a_read_is_repeated_after_a_broken_connection_and_leaves_no_doubt() {
        let (_server, proxy, guard) = proxied().await;
        for opcode in [Opcode::GET_DATA, Opcode::MULTI] {
            let cut = proxy.on_reply(opcode).cut(How::Fin);
            assert_eq!(soon(guard.get("/data")).await.unwrap(), Some(b"x".to_vec()));
            assert_eq!((cut.hits(), writing(&guard)), (1, Writing::Idle));
        }
    }

    #[tokio::test]
    async fn a_later_holder_of_the_same_node_waits_for_the_answer_to_a_read() {
        let (_server, proxy, guard) = proxied().await;
        let held = proxy.on_reply(Opcode::MULTI).hold();
        let mut read = Box::pin(guard.get("/data"));
        assert!(poll!(&mut read).is_pending());
        soon(held.struck()).await;
        assert_eq!(writing(&guard), Writing::UnderWay);
        held.release();
        soon(read).await.unwrap();
        assert_eq!(writing(&guard), Writing::Idle);
    }
}
