//! The roll call: asks the servers which nodes belong to the session.
//!
//! One answer in each epoch of the connection verifies all contenders, and all leases, unless these are so many that
//! `warden` asks for them in portions. Only the session itself can get the answer, so it also shows whether the servers
//! silently replaced the session by another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fault::Fault;
use super::ops::{Ops, Stat};
use super::present::Present;

/// The owner of a node, relative to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    Ours,
    Foreign,
    Gone,
}

impl Ownership {
    /// Compares the owner of a node with the session that created it; `None` means that the node is gone.
    pub(crate) fn of(node: Option<Stat>, session: i64) -> Self {
        match node {
            Some(node) if node.owner == session => Self::Ours,
            Some(_) => Self::Foreign,
            None => Self::Gone,
        }
    }
}

/// The last roll call of a session.
#[derive(Debug)]
pub(super) struct RollCall {
    session: i64,
    last: Mutex<Option<Roll>>,
    /// Whether a server did not know the request.
    is_unknown: AtomicBool,
}

#[derive(Debug)]
struct Roll {
    epoch: u64,
    at: Instant,
    /// The paths of the session's nodes; `None` if the server does not know the request.
    nodes: Option<Arc<Present>>,
}

impl RollCall {
    pub(super) fn new(session: i64) -> Self {
        Self { session, last: Mutex::default(), is_unknown: AtomicBool::new(false) }
    }

    /// Asks whether a node, which existed before this epoch, belongs to the session.
    ///
    /// All callers in one epoch share one request. A node that is not in its answer is asked for on its own.
    pub(super) async fn ownership(&self, ops: &Ops, path: &str, epoch: u64) -> Result<Ownership, Fault> {
        match self.call(ops, epoch).await? {
            Some(nodes) if nodes.contains(path) => Ok(Ownership::Ours),
            Some(_) => self.missed(ops, path).await,
            None => Ok(Ownership::of(ops.present_stat(path).await?, self.session)),
        }
    }

    async fn call(&self, ops: &Ops, epoch: u64) -> Result<Option<Arc<Present>>, Fault> {
        let mut last = self.last.lock().await;
        // A server that did not know the request once is not asked again.
        if let Some(roll) = last.as_ref().filter(|roll| roll.epoch == epoch || roll.nodes.is_none()) {
            return Ok(roll.nodes.clone());
        }
        let nodes = match self.below(ops, "/").await? {
            Some(nodes) => Some(Arc::new(Present::of(nodes).await)),
            None => None,
        };
        *last = Some(Roll { epoch, at: Instant::now(), nodes: nodes.clone() });
        Ok(nodes)
    }

    /// Forgets an answer that is old, because it may be long. Those that ask for nodes do so right after a reconnect.
    pub(super) fn forget_old(&self) {
        if let Ok(mut last) = self.last.try_lock() {
            last.take_if(|roll| roll.at.elapsed() >= RETENTION);
        }
    }

    /// Lists the nodes of the session whose paths begin with this, after the server has caught up. Returns `None` if a
    /// server did not know the request. It is not asked again, because it closes the connection behind its answer.
    pub(super) async fn below(&self, ops: &Ops, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        self.unless_unknown(ops.present_ephemerals(prefix)).await
    }

    /// Does the same in one request, as the server knows them, which may lag behind the others.
    pub(super) async fn here_below(&self, ops: &Ops, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        self.unless_unknown(ops.ephemerals(prefix)).await
    }

    async fn unless_unknown(
        &self,
        question: impl Future<Output = Result<Option<Vec<String>>, Fault>>,
    ) -> Result<Option<Vec<String>>, Fault> {
        if !self.is_known() {
            return Ok(None);
        }
        let nodes = question.await?;
        if nodes.is_none() {
            self.is_unknown.store(true, Ordering::Relaxed);
        }
        Ok(nodes)
    }

    /// Returns whether the servers know the request, as far as they have been asked.
    pub(super) fn is_known(&self) -> bool {
        !self.is_unknown.load(Ordering::Relaxed)
    }

    /// Asks for a node that was not in the answer to the roll call.
    pub(super) async fn missed(&self, ops: &Ops, path: &str) -> Result<Ownership, Fault> {
        let owner = Ownership::of(ops.present_stat(path).await?, self.session);
        if owner == Ownership::Ours {
            let is_in = |nodes: Vec<String>| nodes.iter().any(|node| node == path);
            if !ops.present_ephemerals(path).await?.is_none_or(is_in) {
                // The node may have been deleted in between.
                if ops.present_stat(path).await?.is_none() {
                    return Ok(Ownership::Gone);
                }
                tracing::warn!(path, "the server silently replaced the session");
                return Err(Fault::SessionOver);
            }
        }
        Ok(owner)
    }
}

/// The time for which an answer is kept.
const RETENTION: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ours_only_with_our_session_as_its_owner() {
        let of = |owner| Some(Stat { owner, zxid: 1, children: 0 });
        assert_eq!(Ownership::of(of(7), 7), Ownership::Ours);
        assert_eq!(Ownership::of(of(8), 7), Ownership::Foreign);
        assert_eq!(Ownership::of(of(0), 7), Ownership::Foreign);
        assert_eq!(Ownership::of(None, 7), Ownership::Gone);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_kept_for_a_minute() {
        let roll = RollCall::new(7);
        *roll.last.lock().await = Some(Roll { epoch: 1, at: Instant::now(), nodes: None });
        tokio::time::advance(RETENTION - Duration::from_secs(1)).await;
        roll.forget_old();
        assert!(roll.last.lock().await.is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        roll.forget_old();
        assert!(roll.last.lock().await.is_none());
    }
}
