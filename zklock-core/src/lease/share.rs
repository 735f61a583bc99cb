//! One holder's share of a lease.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{LockError, LossReason};
use crate::events::Holding;
use crate::token::FencingToken;

use super::holders::Holders;
use super::tenure::Tenure;

/// The time of one holder under a lease, which several holders have one after the other, or together to read.
#[derive(Clone, Debug)]
pub(crate) struct Stint {
    tenure: Arc<Tenure>,
    /// The number of holders before this one.
    handoff: u32,
}

/// One holder's share of a lease, under which it may write until the share ends.
#[derive(Debug)]
pub(crate) struct Share {
    stint: Stint,
    is_over: AtomicBool,
}

impl Share {
    pub(crate) fn new(stint: Stint) -> Self {
        Self { stint, is_over: AtomicBool::new(false) }
    }

    /// Ends the share: no write under it begins any more.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Fails if the lease is lost, or the holder has given it back.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        if self.is_over.load(Ordering::SeqCst) {
            return Err(self.tenure.lost_error(LossReason::Resigned));
        }
        self.tenure.check()
    }
}

impl Deref for Share {
    type Target = Stint;

    fn deref(&self) -> &Stint {
        &self.stint
    }
}

impl Stint {
    /// Returns the time of a holder that comes after this many others.
    pub(crate) fn new(tenure: &Arc<Tenure>, handoff: u32) -> Self {
        Self { tenure: tenure.clone(), handoff }
    }

    pub(crate) fn tenure(&self) -> &Arc<Tenure> {
        &self.tenure
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.tenure.token().handed_on(self.handoff)
    }

    /// Reports the end of this hold to the event listeners from now on.
    pub(crate) fn announce(&self, holding: Holding) {
        if let Some(lost) = self.tenure.holders.enter(self.handoff, holding) {
            lost.lost(self.tenure.loss().unwrap_or(LossReason::SessionEnded));
        }
    }

    /// Reports that the holder lost the lock for a reason that is not one of the lease.
    pub(crate) fn forfeit(&self, reason: LossReason) {
        if let Some(lost) = self.tenure.holders.remove(self.handoff) {
            lost.lost(reason);
        }
    }

    /// Takes note that the holder has given the lock back.
    pub(crate) fn end(&self) {
        self.tenure.holders.give_back(self.handoff);
    }

    /// Tells the holders before this one that it has the lock now.
    pub(crate) fn succeed(&self) {
        self.tenure.part(|earlier| earlier < self.handoff).into_iter().for_each(Holding::passed_on);
    }

    /// Reports the release of this holder, while others hold the lock.
    pub(crate) fn part(&self) {
        self.tenure.part(|handoff| handoff == self.handoff).into_iter().for_each(Holding::released);
    }

    /// Waits until another holder has the lock, or until its release has ended, and returns the outcome.
    pub(crate) async fn released(&self) -> Result<(), LockError> {
        self.tenure.until_passed(|_| self.outcome()).await
    }

    /// Returns the outcome of the release, or `None` while it is not known.
    pub(crate) fn outcome(&self) -> Option<Result<(), LockError>> {
        let holders = &self.tenure.holders;
        holders.end().or_else(|| (!holders.has(self.handoff)).then_some(Ok(())))
    }

    /// Waits until another holder has the lock, or the request that releases it has been handed to the connection.
    /// Does not wait for a connection that is broken.
    pub(crate) async fn handed_over(&self) {
        let is_over = |holders: &Holders| {
            let is_over = holders.is_handed_over() || !holders.has(self.handoff);
            is_over.then_some(())
        };
        tokio::select! {
            () = self.tenure.until_passed(is_over) => {}
            () = self.tenure.suspended() => {}
        }
    }
}
