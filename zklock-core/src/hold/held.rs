//! The locks and terms that a call is inside of.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::{iter, slice};

use futures_util::future::select_all;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::lease::Share;

use super::chain::Ends;
use super::node::Node;

/// A term of leadership, as far as the calls below it are concerned.
pub(crate) trait Leading: Send + Sync {
    fn share(&self) -> &Arc<Share>;

    fn worker(&self) -> &Arc<Worker>;

    /// Fails if the term is over.
    fn check(&self) -> Result<(), LockError>;

    /// Waits until the term is over.
    fn over(&self) -> Pin<Box<dyn Future<Output = LossReason> + Send + '_>>;
}

/// The locks, or the term, around a body. It keeps neither held.
#[derive(Clone)]
pub(super) enum Frame {
    Lock(Arc<Node>),
    /// Locks that were taken as one, or several permits.
    Locks(Arc<[Arc<Node>]>),
    Term {
        /// The body's scope, which ends while the term may last.
        body: Weak<()>,
        term: Weak<dyn Leading>,
    },
}

impl Frame {
    pub(super) fn of(mut holds: impl ExactSizeIterator<Item = Arc<Node>>) -> Self {
        match holds.len() {
            1 => holds.next().map(Self::Lock),
            _ => None,
        }
        .unwrap_or_else(|| Self::Locks(holds.collect()))
    }

    /// Returns the holds, of which a term has none.
    #[inline]
    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        match self {
            Self::Lock(node) => slice::from_ref(node),
            Self::Locks(nodes) => nodes,
            Self::Term { .. } => &[],
        }
    }

    /// Returns the hold of the only lock.
    #[inline]
    pub(super) fn lock(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Lock(node) => Some(node),
            Self::Locks(_) | Self::Term { .. } => None,
        }
    }

    /// Returns what is held, or `None` if a part of it has ended: a write that checks only what is left would not be
    /// guarded by all of it.
    pub(super) fn held(&self) -> Option<Held> {
        if let Self::Term { body, term } = self {
            body.upgrade()?;
            return Some(Held::Term(term.upgrade()?));
        }
        if self.is_over() {
            return None;
        }
        let nodes = self.nodes();
        let worker = nodes.first()?.worker()?;
        let shares = nodes.iter().map(|node| node.share().clone()).collect();
        Some(Held::Locks { nodes: nodes.to_vec(), shares, worker })
    }
}

impl Ends for Frame {
    fn is_over(&self) -> bool {
        match self {
            Self::Term { body, .. } => body.strong_count() == 0,
            Self::Lock(_) | Self::Locks(_) => self.nodes().iter().any(|node| node.is_over()),
        }
    }
}

/// The locks that a call holds and that were taken as one, or a term. It does not keep the locks held.
#[derive(Clone)]
pub(crate) enum Held {
    Locks {
        /// One for each node on the servers; at least one.
        nodes: Vec<Arc<Node>>,
        /// Those of the holds. Other holds of the same lock may have the same share, and keep it longer.
        shares: Vec<Arc<Share>>,
        worker: Arc<Worker>,
    },
    Term(Arc<dyn Leading>),
}

impl Held {
    pub(crate) fn shares(&self) -> &[Arc<Share>] {
        match self {
            Self::Locks { shares, .. } => shares,
            Self::Term(term) => slice::from_ref(term.share()),
        }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        match self {
            Self::Locks { worker, .. } => worker,
            Self::Term(term) => term.worker(),
        }
    }

    /// Fails if one of the locks is lost or given back, or the term is over.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        match self {
            Self::Locks { nodes, shares, .. } => {
                iter::zip(nodes, shares).try_for_each(|(node, share)| match node.is_over() {
                    true => Err(share.tenure().lost_error(LossReason::Resigned)),
                    false => share.check(),
                })
            }
            Self::Term(term) => term.check(),
        }
    }

    /// Waits until one of the locks is lost or given back, or the term is over.
    pub(crate) async fn lost(&self) -> LossReason {
        match self {
            Self::Locks { nodes, shares, .. } => lost(nodes, shares).await,
            Self::Term(term) => term.over().await,
        }
    }
}

async fn lost(nodes: &[Arc<Node>], shares: &[Arc<Share>]) -> LossReason {
    let ends: Option<Vec<_>> = nodes.iter().map(|node| node.ending().map(|end| end.token())).collect();
    let Some(ends) = ends else { return LossReason::Resigned };
    let reason = tokio::select! {
        biased;
        _ = select_all(ends.iter().map(|end| Box::pin(end.cancelled()))) => LossReason::Resigned,
        (reason, ..) = select_all(shares.iter().map(|share| Box::pin(share.tenure().lost()))) => reason,
    };
    // The loss may be that of a later holder.
    if nodes.iter().any(|node| node.is_over()) { LossReason::Resigned } else { reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::connected;

    #[tokio::test]
    async fn locks_that_were_taken_as_one_have_ended_when_the_first_of_them_is_given_back() {
        let (_server, client) = connected().await;
        let first = client.mutex("/a").unwrap().lock().await.unwrap();
        let second = client.mutex("/b").unwrap().lock().await.unwrap();
        let holds = [first.holds(), second.holds()];
        let frame = Frame::of(holds.iter().map(|holds| holds[0].node().clone()));
        let held = frame.held().expect("both are held");
        assert!(!frame.is_over() && held.check().is_ok());
        drop(second);
        assert!(frame.held().is_none() && frame.is_over());
        assert!(held.check().is_err_and(|error| error.is_lost()));
    }
}
