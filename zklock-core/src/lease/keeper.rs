//! Watches one lease on the client's thread, and withdraws its contender at the end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::yield_now;
use tokio::time::sleep;

use crate::error::{LockError, LossReason};
use crate::events::{Holding, Witness};
use crate::queue::acquisition::End;
use crate::session::janitor::Undone;
use crate::session::{Attendance, Health};

use super::desk::Order;
use super::seat::Seat;
use super::tenure::Tenure;

/// Keeps a lease until it is released. The node stays until then even if the lease is lost, so that
/// no other client gets the lock while the holder's body is still being cancelled.
pub(super) fn keep(tenure: Arc<Tenure>, seat: impl Seat) -> impl Future<Output = ()> + Send {
    // Created here rather than in the future, which may be dropped before its first poll.
    let attendance = Some(tenure.session.attend());
    let unkept = Unkept { tenure, is_released: false, attendance };
    watched(unkept, seat)
}

async fn watched(mut unkept: Unkept, mut seat: impl Seat) {
    let tenure = unkept.tenure.clone();
    loop {
        let node = tenure.node().await;
        // The watches live until the node is deleted, which fires them. Dropping them earlier would
        // cost a request to remove them.
        let mut watched = Box::pin(watch(&tenure, seat.own_node_gone(node)));
        let order = tokio::select! {
            biased;
            order = tenure.desk.next() => order,
            reason = &mut watched => {
                unkept.lost(tenure.lose(reason));
                tenure.desk.next().await
            }
        };
        match order {
            Some(Order::Downgrade(report)) => {
                // The caller may no longer wait for the outcome.
                if let Err(Err(error)) = report.send(downgrade(&tenure, &mut seat).await) {
                    tracing::warn!(path = %tenure.path, %error, "a lock stays exclusive although only readers are left");
                }
            }
            Some(Order::Release(report)) => {
                let outcome = unkept.withdraw(&mut seat).await;
                report.send(outcome).ok();
                return;
            }
            None => return leave(unkept, &mut seat).await,
        }
    }
}

/// Withdraws the contender after its last holder, and tells when the request for that is on its way.
async fn leave(unkept: Unkept, seat: &mut impl Seat) {
    let tenure = unkept.tenure.clone();
    let mut withdrawn = pin!(unkept.withdraw(seat));
    tokio::select! {
        biased;
        // The first poll issues the request.
        _ = &mut withdrawn => return,
        // Meanwhile the client library's task, which runs on this thread too, writes it.
        () = yield_now() => {}
    }
    tenure.holders.note_handed_over();
    withdrawn.await.ok();
}

/// Replaces the writer's node with a reader's. The lease continues meanwhile.
async fn downgrade(tenure: &Tenure, seat: &mut impl Seat) -> Result<(), LockError> {
    tenure.check()?;
    let writer = tenure.set_node(None);
    match attended(tenure, seat.downgrade()).await {
        Ok(reader) => {
            // The watches were those of the other node, and one of them has just fired.
            tenure.sentry.note_replacement();
            tenure.set_node(Some(seat.queue().child(&reader.name).into()));
            tenure.check()?;
            tenure.tell(Witness::downgraded);
            Ok(())
        }
        Err(refused) => {
            tenure.set_node(writer);
            Err(match refused {
                Undone::Gone => tenure.lost_error(tenure.lose(LossReason::NodeDeleted)),
                Undone::SessionOver => tenure.lost_error(tenure.lose(LossReason::SessionEnded)),
                Undone::Refused(error) => error,
            })
        }
    }
}

/// Awaits work on the lease's node, and meanwhile reports a loss from any other cause to the holder.
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

/// Marks the lease as lost if its keeper ends before the release, because the client's thread ended
/// or a bug made the keeper panic.
struct Unkept {
    tenure: Arc<Tenure>,
    is_released: bool,
    /// Ends with the lease rather than with its tenure, which holders may keep for longer.
    attendance: Option<Attendance>,
}

impl Unkept {
    /// Ends the heartbeats of a lease that was lost with its node, even if the holder keeps it.
    fn lost(&mut self, reason: LossReason) {
        if let LossReason::NodeDeleted | LossReason::OwnerChanged = reason {
            self.attendance = None;
        }
    }

    async fn withdraw(mut self, seat: &mut impl Seat) -> Result<(), LockError> {
        let outcome = withdraw(&self.tenure, seat).await;
        self.is_released = true;
        outcome
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        self.tenure.desk.close();
        if !self.is_released {
            let reason = self.tenure.lose(LossReason::SessionEnded);
            self.tenure.holders.clear().into_iter().for_each(|holding| holding.lost(reason));
            self.tenure.holders.note_end(Err(self.tenure.lost_error(reason)));
        }
    }
}

async fn withdraw(tenure: &Tenure, seat: &mut impl Seat) -> Result<(), LockError> {
    tenure.revocation.close();
    let outcome = withdrawn(tenure, seat).await;
    match &outcome {
        // Those that held the lock when it was lost have been told.
        Ok(()) | Err(LockError::Lost { .. }) => {
            tenure.holders.clear().into_iter().for_each(Holding::released);
        }
        Err(error) => {
            tenure.holders.clear().into_iter().for_each(|holding| holding.release_failed(error));
        }
    }
    tenure.revocation.end();
    tenure.holders.note_end(outcome.clone());
    outcome
}

async fn withdrawn(tenure: &Tenure, seat: &mut impl Seat) -> Result<(), LockError> {
    let end = seat.withdraw().await;
    if let Some(reason) = tenure.loss() {
        return Err(tenure.lost_error(reason));
    }
    match (end, seat.refusal()) {
        (End::Withdrawn | End::Unnumbered | End::Mixed(_), _) => Ok(()),
        (End::Abandoned, Some(refusal)) => Err(refusal),
        (End::Lost | End::Abandoned, _) => {
            let reason = tenure.lose(LossReason::SessionEnded);
            // The release of those that have given the lock back is not known to be complete.
            tenure.holders.clear().into_iter().for_each(|holding| holding.lost(reason));
            Err(tenure.lost_error(reason))
        }
    }
}

/// Waits until the lease is lost, and returns the reason.
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

/// Waits until the lease clock has run out.
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

/// Verifies the lease in every epoch of the connection, and reports suspensions and confirmations.
async fn reverify(tenure: &Tenure) -> Infallible {
    let mut links = tenure.session.links();
    loop {
        let link = *links.borrow_and_update();
        if link.health == Health::Suspended && !tenure.is_suspended.swap(true, Ordering::AcqRel) {
            tenure.tell(Witness::suspended);
        }
        let is_verified = link.epoch == tenure.epoch.load(Ordering::Acquire);
        if is_verified
            && link.health == Health::Connected
            && tenure.is_suspended.swap(false, Ordering::AcqRel)
        {
            tenure.tell(Witness::confirmed);
        }
        // A question on a connection that has not answered yet would have to be repeated.
        if is_verified || link.health != Health::Connected {
            if links.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            continue;
        }
        tenure.reverify().await;
        if tenure.loss().is_some() {
            std::future::pending::<()>().await;
        }
    }
}
