//! Performs the orders of the holders of one lease on the client's thread, and withdraws its contender at the end.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::yield_now;

use crate::error::{LockError, LossReason};
use crate::events::Witness;
use crate::queue::acquisition::End;
use crate::queue::contender::Name;
use crate::session::drive::{Driver, Resting};
use crate::session::janitor::Undone;
use crate::session::presence;

use super::contender::{AtRest, Contender, Gone};
use super::desk::{Order, Work};
use super::seat::Seat;
use super::tenure::Tenure;

impl<S: Seat + 'static> Contender<Tenure> for S {
    fn own_node_gone(&mut self, node: Arc<str>) -> Gone {
        Box::pin(Seat::own_node_gone(self, node))
    }

    fn glance(&mut self) {
        Seat::glance(self);
    }

    fn resting(&mut self) -> Option<Resting> {
        Seat::resting(self)
    }

    fn work(self: Box<Self>, tenure: Arc<Tenure>) {
        put_to_work(*self, tenure);
    }
}

impl AtRest<Tenure> {
    /// Resolves when the node is gone, or cannot be watched.
    pub(super) fn own_node_gone(&mut self, tenure: &Tenure, node: Arc<str>) -> Gone {
        match self {
            Self::Small(_) => {
                let (session, sentry) = (tenure.session.clone(), tenure.sentry.clone());
                Box::pin(presence::unwatched_gone((session, node), tenure.queue().clone(), sentry))
            }
            Self::Large(contender) => {
                let gone = contender.own_node_gone(node);
                // Many have had nothing to remember but the watches that are in the future now.
                if let Some(resting) = contender.resting() {
                    *self = Self::Small(resting);
                }
                gone
            }
        }
    }

    /// Takes note of a watch that has fired before the first [`own_node_gone`](Self::own_node_gone). A small one has none.
    pub(super) fn glance(&mut self) {
        if let Self::Large(contender) = self {
            contender.glance();
        }
    }

    /// Starts a task that performs the orders of the holders.
    pub(super) fn work(self, tenure: Arc<Tenure>) {
        match self {
            Self::Small(resting) => put_to_work(risen(resting, &tenure), tenure),
            Self::Large(contender) => contender.work(tenure),
        }
    }
}

/// Returns a contender that has nothing to do, in the form that takes the least memory.
pub(super) fn at_rest(mut seat: impl Seat + 'static) -> AtRest<Tenure> {
    match seat.resting() {
        Some(resting) => AtRest::Small(resting),
        None => AtRest::Large(Box::new(seat)),
    }
}

/// Returns the contender that has rested.
fn risen(resting: Resting, tenure: &Tenure) -> Driver {
    let (session, sentry) = (tenure.session.clone(), tenure.sentry.clone());
    let node = (&tenure.node.last(), tenure.token().zxid() as i64);
    resting.rise(session, tenure.queue().clone(), (sentry, node))
}

/// Starts a task that performs orders.
fn put_to_work(seat: impl Seat + 'static, tenure: Arc<Tenure>) {
    let tasks = tenure.tasks.clone();
    // Made here rather than in the future, which may be dropped before its first poll.
    let unkept = Unkept { tenure, is_kept: false };
    tasks.spawn(perform(unkept, seat));
}

/// Performs orders until there are no more, or until the contender is withdrawn.
///
/// The node stays until the release even if the lease is lost, so that no other client gets the lock while the holder's
/// body is still being cancelled.
async fn perform(mut unkept: Unkept, mut seat: impl Seat + 'static) {
    let tenure = unkept.tenure.clone();
    let mut has_replaced = false;
    loop {
        seat = match tenure.desk.next(seat, at_rest) {
            Work::Order(Order::Downgrade(report), mut seat) => {
                // The caller may no longer wait for the outcome.
                if let Err(Err(error)) = report.send(downgrade(&tenure, &mut seat).await) {
                    tracing::warn!(path = %tenure.path, %error, "a lock stays exclusive although only readers are left");
                }
                has_replaced = true;
                seat
            }
            Work::Order(Order::Release(report), mut seat) => {
                report.send(withdraw(&tenure, &mut seat).await).ok();
                break;
            }
            Work::Leave(mut seat) => break leave(&tenure, &mut seat).await,
            Work::None => {
                // The ward gets the next watch from a contender that rests.
                if has_replaced {
                    tenure.session.renew(tenure.key);
                }
                break;
            }
        }
    }
    unkept.is_kept = true;
}

/// Withdraws the contender after its last holder, and tells when the request for that is on its way.
async fn leave(tenure: &Tenure, seat: &mut impl Seat) {
    let mut withdrawn = pin!(withdraw(tenure, seat));
    tokio::select! {
        biased;
        // The first poll issues the request.
        _ = &mut withdrawn => return,
        // Meanwhile the client library's task, which runs on this thread too, writes it.
        () = yield_now() => {}
    }
    tenure.note_handed_over();
    withdrawn.await.ok();
}

/// Replaces the writer's node with a reader's. The lease continues meanwhile.
async fn downgrade(tenure: &Tenure, seat: &mut impl Seat) -> Result<(), LockError> {
    tenure.check()?;
    tenure.begin_replacement();
    match seat.downgrade().await {
        Ok(reader) => {
            // The watches were those of the other node, and one of them has just fired.
            tenure.sentry.note_replacement();
            tenure.is_watched.store(false, Ordering::Release);
            tenure.set_node(Name::new(&reader.name));
            tenure.check()?;
            tenure.tell(Witness::downgraded);
            Ok(())
        }
        Err(refused) => {
            tenure.set_node(tenure.node.last());
            Err(match refused {
                Undone::Gone => tenure.lost_error(tenure.lose(LossReason::NodeDeleted)),
                Undone::SessionOver => tenure.lost_error(tenure.lose(LossReason::SessionEnded)),
                Undone::Refused(error) => error,
            })
        }
    }
}

/// Ends a lease whose task ends early, because the client's thread ended or a bug made the task panic.
struct Unkept {
    tenure: Arc<Tenure>,
    is_kept: bool,
}

impl Drop for Unkept {
    fn drop(&mut self) {
        if !self.is_kept {
            let tenure = &self.tenure;
            let reason = tenure.lose(LossReason::SessionEnded);
            tenure.holders.clear().into_iter().for_each(|holding| holding.lost(reason));
            tenure.end(Err(tenure.lost_error(reason)));
        }
    }
}

async fn withdraw(tenure: &Tenure, seat: &mut impl Seat) -> Result<(), LockError> {
    tenure.begin_departure();
    let end = seat.withdraw().await;
    // A client that closes its session is told that its locks are lost, and deletes their nodes before.
    let is_deleted = matches!(end, End::Withdrawn);
    let outcome = outcome(tenure, end, seat.refusal());
    // Those that held the lock when it was lost have been told. The others have given it back.
    for holding in tenure.holders.clear() {
        match &outcome {
            Ok(()) => holding.released(),
            Err(LockError::Lost { reason: LossReason::SessionEnded, .. }) if is_deleted => holding.released(),
            Err(LockError::Lost { reason, .. }) => holding.lost(*reason),
            Err(error) => holding.release_failed(error),
        }
    }
    tenure.end(outcome.clone());
    outcome
}

fn outcome(tenure: &Tenure, end: End, refusal: Option<LockError>) -> Result<(), LockError> {
    if let Some(reason) = tenure.loss() {
        return Err(tenure.lost_error(reason));
    }
    match (end, refusal) {
        (End::Withdrawn | End::Unnumbered | End::Mixed(_), _) => Ok(()),
        (End::Abandoned, Some(refusal)) => Err(refusal),
        (End::Lost | End::Abandoned, _) => Err(tenure.lost_error(tenure.lose(LossReason::SessionEnded))),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use zklock_testkit::EmbeddedServer;

    use crate::Config;
    use crate::event::LockEventKind;
    use crate::events::Events;

    use super::*;

    /// Waits for an event, and returns its value.
    async fn next<T>(events: &mut Events, which: impl Fn(LockEventKind) -> Option<T>) -> T {
        loop {
            if let Some(value) = which(events.next().await.expect("the client is there").kind) {
                return value;
            }
        }
    }

    #[tokio::test]
    async fn a_loss_between_the_return_of_a_lock_and_its_release_is_told_and_returned() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let (mut events, mutex) = (client.events(), client.mutex("/a").unwrap());
        let guard = mutex.lock().await.unwrap();
        let tenure = guard.holds()[0].tenure().clone();
        let waiting = tokio::spawn(async move { mutex.lock().await.map(drop) });
        next(&mut events, |kind| matches!(kind, LockEventKind::Queued { .. }).then_some(())).await;
        // The write keeps the next call from the lock.
        tenure.writes().begin();
        let mut releasing = pin!(guard.release());
        assert!(poll!(&mut releasing).is_pending());
        tenure.lose(LossReason::NodeDeleted);
        let lost = releasing.await.unwrap_err();
        assert!(matches!(lost, LockError::Lost { reason: LossReason::NodeDeleted, .. }), "{lost}");
        let told = |kind| match kind {
            LockEventKind::Lost { reason, .. } => Some(Ok(reason)),
            LockEventKind::Released { .. } => Some(Err("released")),
            _ => None,
        };
        assert_eq!(next(&mut events, told).await, Ok(LossReason::NodeDeleted));
        waiting.await.unwrap().unwrap();
    }
}
