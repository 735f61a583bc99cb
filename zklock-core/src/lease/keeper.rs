//! Watches over one lease on the client's thread, and withdraws its contender at the end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::error::{LockError, Phase};
use crate::events::LockEventKind;
use crate::queue::acquisition::End;
use crate::session::Health;
use crate::session::drive::Driver;
use crate::session::janitor::Undone;

use super::{LossReason, Order, Report, Tenure};

/// Keeps a lease until it is released; the node stays until then, also when the lease is lost, so that
/// the lock is not handed on while the body of a holder is still being cancelled.
pub(super) async fn keep(
    unkept: Unkept,
    mut driver: Driver,
    mut orders: mpsc::UnboundedReceiver<Order>,
    within: Duration,
) {
    let tenure = unkept.tenure.clone();
    tenure.tell(|fencing_token| LockEventKind::Acquired { fencing_token });
    loop {
        let node = tenure.node().await;
        // The watches live until the node is deleted, which fires them; dropped before, they would cost a
        // request to remove them.
        let mut watched = Box::pin(watch(&tenure, driver.own_node_gone(node.to_string())));
        let order = tokio::select! {
            biased;
            order = orders.recv() => order,
            reason = &mut watched => {
                tenure.lose(reason);
                orders.recv().await
            }
        };
        if let Some(Order::Downgrade(report)) = order {
            // Whoever asked may have dropped the future of the downgrade; it does not want to know then.
            report.send(downgrade(&tenure, &mut driver).await).ok();
            continue;
        }
        unkept.released();
        tenure.revocation.close();
        let withdrawal = withdraw(&tenure, &mut driver);
        match order {
            Some(Order::Release(reply)) => report(&tenure, withdrawal, reply, within).await,
            Some(Order::Downgrade(_)) | None => drop(withdrawal.await),
        }
        tenure.revocation.end();
        return;
    }
}

/// Puts a reader's node in the place of the writer's; the lease goes on meanwhile.
async fn downgrade(tenure: &Tenure, driver: &mut Driver) -> Result<(), LockError> {
    tenure.check()?;
    let writer = tenure.node.send_replace(None);
    match attended(tenure, driver.downgrade()).await {
        Ok(reader) => {
            tenure.node.send_replace(Some(driver.path().child(&reader.name).into()));
            tenure.check()?;
            tenure.tell(|fencing_token| LockEventKind::Downgraded { fencing_token });
            Ok(())
        }
        Err(refused) => {
            tenure.node.send_replace(writer);
            Err(match refused {
                Undone::Gone => tenure.lost_error(tenure.lose(LossReason::NodeDeleted)),
                Undone::SessionOver => tenure.lost_error(tenure.lose(LossReason::SessionEnded)),
                Undone::Refused(error) => error,
            })
        }
    }
}

/// Awaits work on the lease's node, and goes on telling the holder of a loss that shows elsewhere.
async fn attended<T>(tenure: &Tenure, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let reason = tokio::select! {
        biased;
        done = &mut work => return done,
        reason = watch(tenure, std::future::pending()) => reason,
    };
    tenure.lose(reason);
    work.await
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
    reply: Report,
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
    let outcome = withdrawn(tenure, driver).await;
    match &outcome {
        Ok(()) => tenure.tell(|fencing_token| LockEventKind::Released { fencing_token }),
        // Its loss was told.
        Err(LockError::Lost { .. }) => {}
        Err(error) => {
            let error = error.clone();
            tenure.tell(|fencing_token| LockEventKind::ReleaseFailed { fencing_token, error });
        }
    }
    outcome
}

async fn withdrawn(tenure: &Tenure, driver: &mut Driver) -> Result<(), LockError> {
    let end = driver.withdraw().await;
    if let Some(reason) = tenure.loss() {
        return Err(tenure.lost_error(reason));
    }
    match (end, driver.refusal()) {
        (End::Withdrawn | End::Unnumbered | End::Mixed(_), _) => Ok(()),
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

/// Verifies the lease in every epoch of the connection, and tells the listeners of it.
async fn reverify(tenure: &Tenure) -> Infallible {
    let mut links = tenure.session.links();
    let mut is_suspended = false;
    loop {
        let link = *links.borrow_and_update();
        if link.health == Health::Suspended && !is_suspended {
            is_suspended = true;
            tenure.tell(|fencing_token| LockEventKind::Suspended { fencing_token });
        }
        if link.epoch == tenure.epoch.load(Ordering::Acquire) {
            if link.health == Health::Connected && is_suspended {
                is_suspended = false;
                tenure.tell(|fencing_token| LockEventKind::Confirmed { fencing_token });
            }
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
