//! Watches over one lease on the client's thread, and withdraws its contender at the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::error::{LockError, Phase};
use crate::queue::acquisition::End;
use crate::session::drive::Driver;

use super::{LossReason, Released, Tenure};

/// Keeps a lease until it is released; the node stays until then, also when the lease is lost, so that
/// the lock is not handed on while the body of a holder is still being cancelled.
pub(super) async fn keep(
    unkept: Unkept,
    mut driver: Driver,
    mut released: oneshot::Receiver<Released>,
    within: Duration,
) {
    let tenure = unkept.tenure.clone();
    // The watches live until the node is deleted, which fires them; dropped before, they would cost a
    // request to remove them.
    let gone = driver.own_node_gone(tenure.node().to_owned());
    let mut watched = Box::pin(watch(&tenure, gone));
    let reply = tokio::select! {
        biased;
        reply = &mut released => reply.ok(),
        reason = &mut watched => {
            tenure.lose(reason);
            released.await.ok()
        }
    };
    unkept.released();
    let withdrawal = withdraw(&tenure, &mut driver);
    match reply {
        None => drop(withdrawal.await),
        Some(reply) => report(&tenure, withdrawal, reply, within).await,
    }
    drop(watched);
}

/// Tells the holder that nobody watches over its lease any more, if the keeper ends before the release: the
/// client's thread ended, or a bug made the keeper panic.
pub(super) struct Unkept {
    tenure: Arc<Tenure>,
    is_released: bool,
}

impl Unkept {
    pub(super) fn new(tenure: Arc<Tenure>) -> Self {
        Self { tenure, is_released: false }
    }

    fn released(mut self) {
        self.is_released = true;
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        if !self.is_released {
            self.tenure.lose(LossReason::SessionEnded);
        }
    }
}

/// Tells the holder what came of its release, within its bound, and completes it in any case.
async fn report(
    tenure: &Tenure,
    withdrawal: impl Future<Output = Result<(), LockError>>,
    reply: Released,
    within: Duration,
) {
    let mut withdrawal = Box::pin(withdrawal);
    let in_time = timeout(within, &mut withdrawal).await;
    let is_done = in_time.is_ok();
    let path = tenure.path().relative().to_owned();
    let late = LockError::Timeout { path, waited: within, phase: Phase::Releasing };
    // The holder may have dropped the future of its release; it does not want to know then.
    reply.send(in_time.unwrap_or(Err(late))).ok();
    if !is_done {
        drop(withdrawal.await);
    }
}

async fn withdraw(tenure: &Tenure, driver: &mut Driver) -> Result<(), LockError> {
    let end = driver.withdraw().await;
    if let Some(reason) = tenure.loss() {
        return Err(tenure.lost_error(reason));
    }
    match (end, driver.refusal()) {
        (End::Withdrawn | End::Unnumbered, _) => Ok(()),
        (End::Abandoned, Some(refusal)) => Err(refusal),
        (End::Lost | End::Abandoned, _) => Err(tenure.lost_error(LossReason::SessionEnded)),
    }
}

/// Waits until the lease is lost, and says why.
async fn watch(tenure: &Tenure, gone: impl Future<Output = ()>) -> LossReason {
    tokio::select! {
        biased;
        () = tenure.session.over() => LossReason::SessionEnded,
        () = gone => LossReason::NodeDeleted,
        () = lapse(tenure) => LossReason::LeaseExpired,
        never = reverify(tenure) => match never {},
        reason = tenure.lost() => reason,
    }
}

/// Waits until the lease clock ran out.
async fn lapse(tenure: &Tenure) {
    loop {
        let clock = tenure.session.clock();
        let remaining = tenure.valid_until().saturating_since(clock.now());
        if remaining.is_zero() {
            return;
        }
        sleep(remaining).await;
    }
}

/// Verifies the lease in every epoch of the connection.
async fn reverify(tenure: &Tenure) -> Infallible {
    let mut links = tenure.session.links();
    loop {
        let epoch = links.borrow_and_update().epoch;
        if epoch == tenure.epoch.load(Ordering::Acquire) {
            if links.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            continue;
        }
        tenure.settle().await;
        if tenure.loss().is_some() {
            std::future::pending::<()>().await;
        }
    }
}
