//! A write that creates a node or replaces its data, only while the lock is held.

use std::time::Instant;

use crate::client::worker::Worker;
use crate::error::{LockError, Phase, Refusal};
use crate::lease::WritePermit;
use crate::session::ops::Write;

use super::Guard;
use super::write::write_within;

impl<K> Guard<K> {
    /// Replaces the data of the node at `path`, or creates the node, if and only if the lock is held at that moment.
    ///
    /// Missing parents are created as well, as persistent nodes without data. Each request is guarded like
    /// [`set_data`](Self::set_data), which also states the limits of `path` and `data`. A node that exists takes
    /// one request. A node that does not exist takes a second one, and one more for each missing parent. If other
    /// clients create and delete the same node meanwhile, the answer to each request decides the next one, until the
    /// client's default wait is over.
    ///
    /// # Errors
    ///
    /// Those of [`set_data`](Self::set_data), and [`LockError::Timeout`] if every request within the client's default
    /// wait was refused because of such changes; nothing was written then.
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
        let permit = || WritePermit::take(&self.shares());
        upsert_under(self.client().worker(), permit, path, data.into()).await
    }
}

/// Creates the node at `path`, below the client's namespace, or replaces its data. Each request has a permit of its
/// own.
///
/// No request is sent after one whose outcome is unknown.
pub(crate) async fn upsert_under(
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
        let write = step.write(data.clone());
        match write_within(worker, permit()?, (path, write), left).await {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zklock_testkit::wire::Opcode;
    use zklock_testkit::{EmbeddedServer, How, Proxy};

    use super::*;
    use crate::{Config, Heartbeat, MutexGuard};

    #[test]
    fn the_answer_to_a_request_decides_the_next_one() {
        let create = |parents| Step::Create { parents };
        assert_eq!(Step::Set.after(&Refusal::NoNode), Some(create(0)));
        assert_eq!(create(0).after(&Refusal::NoNode), Some(create(1)));
        assert_eq!(create(1).after(&Refusal::NoNode), Some(create(2)));
        assert_eq!(create(2).after(&Refusal::NodeExists), Some(Step::Set));
        for step in [Step::Set, create(0)] {
            assert_eq!(step.after(&Refusal::BadVersion), None);
            assert_eq!(step.after(&Refusal::Other("no children for ephemerals".into())), None);
        }
        assert_eq!(Step::Set.after(&Refusal::NodeExists), None);
    }

    /// A holder whose only transactions are its guarded writes.
    async fn proxied() -> (EmbeddedServer, Proxy, MutexGuard) {
        let server = EmbeddedServer::start().unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let config = Config::new(proxy.connect_string()).heartbeat(Heartbeat::Read);
        let client = config.default_wait(Duration::from_secs(5)).connect().await.unwrap();
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        (server, proxy, guard)
    }

    #[tokio::test]
    async fn nothing_is_sent_after_a_request_of_unknown_outcome() {
        for nth in 1..=3 {
            let (server, proxy, guard) = proxied().await;
            // The first request replaces the data, the second one creates the node, and the third one its parent too.
            let cut = proxy.on_reply(Opcode::MULTI).nth(nth).cut(How::Fin);
            let written = guard.upsert("/ledgers/7", "x").await;
            assert!(matches!(written, Err(LockError::OutcomeUnknown { .. })), "{nth}: {written:?}");
            assert_eq!(cut.hits(), 1);
            assert_eq!(server.node("/ledgers/7").is_some(), nth == 3, "{nth}");
        }
    }

    #[tokio::test]
    async fn parents_and_node_are_created_in_one_step() {
        let (server, proxy, guard) = proxied().await;
        let held = proxy.on_request(Opcode::MULTI).nth(3).hold();
        let write = guard.upsert("/ledgers/7", "x");
        let outsider = async {
            held.struck().await;
            assert!(server.node("/ledgers").is_none());
            held.release();
        };
        let (written, ()) = tokio::join!(write, outsider);
        written.unwrap();
        assert!(server.node("/ledgers/7").is_some());
    }
}
