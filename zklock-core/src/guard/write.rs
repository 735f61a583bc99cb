//! Writes that are applied only while the lock is held.

use std::sync::Arc;
use std::time::Duration;

use crate::client::worker::{Unanswered, Worker};
use crate::error::{LockError, LossReason};
use crate::lease::{Share, WritePermit};
use crate::path::NodePath;
use crate::session::fault::Fault;
use crate::session::ops::{Guarded, Write};

use super::Guard;

impl<K> Guard<K> {
    /// Replaces the data of the node at `path` if and only if the lock is held at that moment.
    ///
    /// The server checks this guard's own node in the same transaction, so a holder that lost the lock
    /// without knowing it cannot write. `path` is an absolute path below the client's namespace. The request, which
    /// contains the data, `path` and the paths of this guard's nodes, has at most 1,048,575 bytes, the default of the
    /// servers' `jute.maxbuffer`. A longer one is refused before anything is sent.
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
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NodeExists`](crate::Refusal::NodeExists) if the
    /// node exists, and [`Refusal::NoNode`](crate::Refusal::NoNode) if its parent does not.
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
    /// Those of [`set_data`](Self::set_data). The refusal is [`Refusal::NoNode`](crate::Refusal::NoNode) if the node does
    /// not exist, and [`Refusal::NotEmpty`](crate::Refusal::NotEmpty) if it has children.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the outcome unknown.
    pub async fn delete(&self, path: &str) -> Result<(), LockError> {
        self.write(path, Write::Delete).await
    }

    async fn write(&self, path: &str, write: Write) -> Result<(), LockError> {
        let permit = WritePermit::take(&self.shares())?;
        write_under(self.client().worker(), permit, path, write).await
    }

    pub(super) fn shares(&self) -> Vec<Arc<Share>> {
        self.holds.iter().map(|hold| hold.share().clone()).collect()
    }
}

/// Writes to `path`, below the client's namespace, if all of the permit's leases are held at that moment.
pub(crate) async fn write_under(
    worker: &Worker,
    permit: WritePermit,
    path: &str,
    write: Write,
) -> Result<(), LockError> {
    write_within(worker, permit, (path, write), worker.default_wait()).await
}

/// Does the same, and waits for at most `within` for the answer.
pub(super) async fn write_within(
    worker: &Worker,
    permit: WritePermit,
    (path, write): (&str, Write),
    within: Duration,
) -> Result<(), LockError> {
    let target = NodePath::new(worker.root(), path)?;
    let (shares, about) = (permit.shares().to_vec(), target.clone());
    match worker.call(within, guarded(permit, target, write)).await {
        Ok(Ok(Guarded::Applied)) => Ok(()),
        Ok(Ok(Guarded::Unguarded(index))) => {
            let tenure = shares[index].tenure();
            Err(tenure.lost_error(tenure.lose(LossReason::NodeDeleted)))
        }
        Ok(Err(error)) => Err(error),
        Err(Unanswered::InTime) => {
            Err(Fault::Unknown(format!("no answer within {within:?}")).into_error(path))
        }
        Err(unanswered @ (Unanswered::Forked | Unanswered::Panicked)) => {
            Err(unanswered.into_error(&about, within))
        }
        Err(Unanswered::Ended) => Err(Fault::SessionOver.into_error(path)),
    }
}

/// Sends the write in one transaction with a check of the leases' nodes.
///
/// The names of the nodes are read in the same step in which the transaction is sent: a downgrade under way
/// replaces its node either before that or after the write.
async fn guarded(permit: WritePermit, target: NodePath, write: Write) -> Result<Guarded, LockError> {
    let session = permit.shares()[0].tenure().session().clone();
    let ready = permit.ready().await?;
    let answer = ready.send(|guards| session.ops().guarded(guards, target.full(), &write)).await;
    answer.map_err(|fault| fault.into_error(target.relative()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::poll;
    use tokio::time::timeout;
    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use super::*;
    use crate::lease::writes::Writing;
    use crate::{Config, Heartbeat};

    /// A server, and a configuration of clients whose only transactions are their guarded writes.
    fn proxied() -> (EmbeddedServer, Proxy, Config) {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        (server, proxy, config)
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), future).await.expect("it happens within 20 s")
    }

    fn writing<K>(guard: &Guard<K>) -> Vec<Writing> {
        guard.holds.iter().map(|hold| hold.tenure().writes().state()).collect()
    }

    async fn drained<K>(guard: &Guard<K>) -> Writing {
        soon(guard.holds[0].tenure().writes().drained()).await
    }

    #[tokio::test]
    async fn a_write_is_under_way_from_its_first_step_until_it_is_answered() {
        let (_server, proxy, config) = proxied();
        let guard = config.connect().await.unwrap().mutex("/a").unwrap().lock().await.unwrap();
        let held = proxy.on_reply(Opcode::MULTI).hold();
        // The client's thread stands still, so the write's task does not run yet.
        let (go_on, stopped) = mpsc::channel::<()>();
        guard.client().worker().spawn(async move {
            stopped.recv().ok();
        });
        let mut write = Box::pin(guard.create("/data", "x"));
        assert_eq!(writing(&guard), [Writing::Idle]);
        assert!(poll!(&mut write).is_pending());
        assert_eq!(writing(&guard), [Writing::UnderWay]);
        drop(go_on);
        soon(held.struck()).await;
        assert_eq!(writing(&guard), [Writing::UnderWay]);
        held.release();
        soon(write).await.unwrap();
        assert_eq!(writing(&guard), [Writing::Idle]);
    }

    #[tokio::test]
    async fn a_write_whose_caller_has_gone_is_under_way_until_it_is_answered() {
        let (server, proxy, config) = proxied();
        let guard = config.connect().await.unwrap().mutex("/a").unwrap().lock().await.unwrap();
        let held = proxy.on_reply(Opcode::MULTI).hold();
        let mut write = Box::pin(guard.create("/data", "x"));
        assert!(poll!(&mut write).is_pending());
        drop(write);
        soon(held.struck()).await;
        assert_eq!(writing(&guard), [Writing::UnderWay]);
        held.release();
        assert_eq!(drained(&guard).await, Writing::Idle);
        assert!(server.node("/data").is_some());
    }

    #[tokio::test]
    async fn a_refused_write_leaves_no_doubt() {
        let (server, _proxy, config) = proxied();
        let client = config.connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        guard.create("no path", "x").await.unwrap_err();
        guard.create("/data", vec![0; 1 << 20]).await.unwrap_err();
        guard.set_data("/nowhere", "x").await.unwrap_err();
        assert_eq!(writing(&guard), [Writing::Idle]);
        server.delete("/a");
        let unguarded = guard.create("/data", "x").await;
        assert!(matches!(unguarded, Err(LockError::Lost { .. })), "{unguarded:?}");
        let lost = guard.create("/data", "x").await;
        assert!(matches!(lost, Err(LockError::Lost { .. })), "{lost:?}");
        assert_eq!(writing(&guard), [Writing::Idle]);
    }

    #[tokio::test]
    async fn a_broken_connection_makes_all_locks_of_a_write_doubtful() {
        let (_server, proxy, config) = proxied();
        let client = config.connect().await.unwrap();
        for path in ["/request", "/reply"] {
            let members = [format!("{path}/1"), format!("{path}/2")];
            let guard = client.multi(members.iter().map(String::as_str)).unwrap().lock().await.unwrap();
            guard.create(&format!("{path}/before"), "x").await.unwrap();
            assert_eq!(writing(&guard), [Writing::Idle; 2]);
            let cut = if path == "/request" {
                proxy.on_request(Opcode::MULTI).cut(How::Fin)
            } else {
                proxy.on_reply(Opcode::MULTI).cut(How::Rst)
            };
            let written = soon(guard.create(&format!("{path}/after"), "x")).await;
            assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{written:?}");
            assert_eq!((writing(&guard), cut.hits()), (vec![Writing::Doubtful; 2], 1));
        }
    }

    #[tokio::test]
    async fn a_write_that_takes_longer_than_the_clients_wait_is_doubtful_and_stays_so() {
        let (server, proxy, config) = proxied();
        let client = config.default_wait(Duration::from_secs(2)).connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let held = proxy.on_request(Opcode::MULTI).hold();
        let written = soon(guard.create("/late", "x")).await;
        assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{written:?}");
        assert_eq!(writing(&guard), [Writing::Doubtful]);
        assert!(server.node("/late").is_none());
        held.release();
        guard.create("/behind", "x").await.unwrap();
        assert!(server.node("/late").is_some());
        assert_eq!(writing(&guard), [Writing::Doubtful]);
    }

    #[tokio::test]
    async fn the_task_of_a_client_that_has_ended_sends_nothing_and_leaves_no_doubt() {
        let (server, _proxy, config) = proxied();
        let client = config.connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let permit = WritePermit::take(&[guard.holds[0].share().clone()]).unwrap();
        soon(client.shutdown(Duration::ZERO)).await;
        let written = write_under(client.worker(), permit, "/data", Write::Create(Vec::new())).await;
        assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{written:?}");
        assert_eq!(writing(&guard), [Writing::Idle]);
        assert!(server.node("/data").is_none());
    }
}
