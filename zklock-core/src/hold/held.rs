//! The locks and terms that a call is inside of.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::{iter, slice};

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
    Term {
        /// The body's scope, which ends while the term may last.
        body: Weak<()>,
        term: Weak<dyn Leading>,
    },
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
            Self::Term { .. } => &[],
        }
    }

    /// Returns what is held, or `None` if a part of it has ended: a write that checks only what is left would not be
    /// guarded by all of it.
    pub(super) fn held(&self) -> Option<Held> {
        if let Self::Term { body, term } = self {
            body.upgrade()?;
            return Some(Held::Term(term.upgrade()?));
        }
        let holds = self.holds().iter().map(Weak::upgrade).collect::<Option<Vec<_>>>()?;
        let worker = holds.first()?.client.worker().clone();
        let shares = holds.iter().map(|hold| hold.share().clone()).collect();
        Some(Held::Locks { holds: self.holds().to_vec(), shares, worker })
    }
}

impl Ends for Frame {
    fn is_over(&self) -> bool {
        match self {
            Self::Term { body, .. } => body.strong_count() == 0,
            Self::Lock(_) | Self::Locks(_) => self.holds().iter().any(Ends::is_over),
        }
    }
}

/// The locks that a call holds and that were taken as one, or a term. It does not keep the locks held.
#[derive(Clone)]
pub(crate) enum Held {
    Locks {
        /// One for each node; at least one.
        holds: Vec<Weak<Hold>>,
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
            Self::Locks { holds, shares, .. } => {
                iter::zip(holds, shares).try_for_each(|(hold, share)| match hold.is_over() {
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
            Self::Locks { holds, shares, .. } => lost(holds, shares).await,
            Self::Term(term) => term.over().await,
        }
    }
}

async fn lost(holds: &[Weak<Hold>], shares: &[Arc<Share>]) -> LossReason {
    let ends: Option<Vec<_>> = holds.iter().map(|hold| hold.upgrade().map(|hold| hold.end())).collect();
    let Some(ends) = ends else { return LossReason::Resigned };
    let reason = tokio::select! {
        biased;
        _ = select_all(ends.iter().map(|end| Box::pin(end.cancelled()))) => LossReason::Resigned,
        (reason, ..) = select_all(shares.iter().map(|share| Box::pin(share.tenure().lost()))) => reason,
    };
    // The loss may be that of a later holder.
    if holds.iter().any(Ends::is_over) { LossReason::Resigned } else { reason }
}

#[cfg(test)]
mod tests {
    use zklock_testkit::EmbeddedServer;

    use super::*;
    use crate::Config;

    #[tokio::test]
    async fn locks_that_were_taken_as_one_have_ended_when_the_first_of_them_is_given_back() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let first = client.mutex("/a").unwrap().lock().await.unwrap();
        let second = client.mutex("/b").unwrap().lock().await.unwrap();
        let frame = Frame::of(&[first.holds()[0].clone(), second.holds()[0].clone()]);
        let held = frame.held().expect("both are held");
        assert!(!frame.is_over() && held.check().is_ok());
        drop(second);
        assert!(frame.held().is_none() && frame.is_over());
        assert!(held.check().is_err_and(|error| error.is_lost()));
    }
}
