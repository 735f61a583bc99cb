//! The locks and terms that a call is inside of.

use std::pin::Pin;
use std::slice;
use std::sync::{Arc, Weak};

use futures_util::future::select_all;

use crate::client::worker::Worker;
use crate::error::{LockError, LossReason};
use crate::lease::Share;

use super::Hold;
use super::chain::Ends;

/// A term of leadership, as far as the calls below it are concerned.
pub(crate) trait Leading: Send + Sync {
    fn share(&self) -> &Arc<Share>;

    fn worker(&self) -> &Arc<Worker>;

    /// Fails if the term is over.
    fn check(&self) -> Result<(), LockError>;

    /// Waits until the term is over.
    fn over(&self) -> Pin<Box<dyn Future<Output = LossReason> + Send + '_>>;
}

/// The locks, or the term, around a body. It keeps neither alive.
#[derive(Clone)]
pub(super) enum Frame {
    Lock(Weak<Hold>),
    /// Locks that were taken as one, or several permits.
    Locks(Arc<[Weak<Hold>]>),
    Term(Weak<dyn Leading>),
}

impl Frame {
    pub(super) fn of(holds: &[Arc<Hold>]) -> Self {
        match holds {
            [hold] => Self::Lock(Arc::downgrade(hold)),
            holds => Self::Locks(holds.iter().map(Arc::downgrade).collect()),
        }
    }

    /// Returns the holds, of which a term has none.
    pub(super) fn holds(&self) -> &[Weak<Hold>] {
        match self {
            Self::Lock(hold) => slice::from_ref(hold),
            Self::Locks(holds) => holds,
            Self::Term(_) => &[],
        }
    }

    /// Returns what is left of it, or `None` if it has ended.
    pub(super) fn held(&self) -> Option<Held> {
        if let Self::Term(term) = self {
            return Some(Held::Term(term.upgrade()?));
        }
        let holds: Vec<_> = self.holds().iter().filter_map(Weak::upgrade).collect();
        let worker = holds.first()?.client.worker().clone();
        Some(Held::Locks { shares: holds.iter().map(|hold| hold.share().clone()).collect(), worker })
    }
}

impl Ends for Frame {
    fn is_over(&self) -> bool {
        match self {
            Self::Term(term) => term.strong_count() == 0,
            Self::Lock(_) | Self::Locks(_) => self.holds().iter().all(Ends::is_over),
        }
    }
}

/// The locks that a call holds and that were taken as one, or a term. It does not keep the locks held.
#[derive(Clone)]
pub(crate) enum Held {
    Locks {
        /// One for each node; at least one.
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
            Self::Locks { shares, .. } => shares.iter().try_for_each(|share| share.check()),
            Self::Term(term) => term.check(),
        }
    }

    /// Waits until one of the locks is lost, or the term is over.
    pub(crate) async fn lost(&self) -> LossReason {
        match self {
            Self::Locks { shares, .. } => {
                select_all(shares.iter().map(|share| Box::pin(share.tenure().lost()))).await.0
            }
            Self::Term(term) => term.over().await,
        }
    }
}
