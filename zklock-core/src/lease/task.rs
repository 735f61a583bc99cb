//! The task of one held node, from its turn to its deletion.
//!
//! It watches the node, performs the orders of the holders, and withdraws the contender at the end.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;

use futures_lite::future::or;
use futures_util::future::{Fuse, FutureExt, OptionFuture};
use tokio::task::yield_now;

use crate::error::{LockError, LossReason};
use crate::events::{HoldEnd, Witness};
use crate::queue::acquisition::End;
use crate::session::drive::Driver;
use crate::session::{Attendance, Health};

use super::state::{Lease, Order};

/// The task of one held node. If it ends early, because the client's thread ended or a bug made it panic, the lease is lost.
struct Task {
    lease: Arc<Lease>,
    /// The heartbeats that the session sends for this lease. `None` once the node is gone, even if the holder keeps the lease.
    heartbeats: Option<Attendance>,
    /// Whether the listeners have been told that the lease is suspended.
    is_suspended: bool,
}

/// Starts the task of a node.
pub(super) fn start(driver: Driver, lease: Arc<Lease>) {
    let (tasks, heartbeats) = (lease.session.tasks.clone(), Some(lease.session.attend()));
    // Made here rather than in the future, which may be dropped before its first poll.
    let task = Task { lease, heartbeats, is_suspended: false };
    tasks.spawn(task.hold(driver));
}

impl Task {
    /// Holds the node until its contender is withdrawn.
    ///
    /// The node stays until the release even if the lease is lost, so that no other client gets the lock while the holder's
    /// body is still being cancelled.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has its arguments twice")]
    fn hold(self, mut driver: Driver) -> impl Future<Output = ()> + Send {
        async move {
            let mut task = self;
            let lease = task.lease.clone();
            loop {
                // Kept until the node is deleted, because the library sends a request for a watch that is dropped earlier.
                let mut gone: Gone = FutureExt::fuse(Box::pin(driver.own_node_gone(lease.node().await)));
                // Orders are boxed, so that a held lock has no room for them.
                match task.attend(&mut gone).await {
                    Order::Downgrade(report) => {
                        // The caller may no longer wait for the outcome.
                        // The end of the session or of the lease clock is noticed meanwhile.
                        let lost = lease.until(|| lease.loss_by_now().is_some());
                        let downgraded = Box::pin(beside(lost, downgrade(&lease, &mut driver)));
                        if let Err(Err(error)) = report.send(beside(&mut gone, downgraded).await) {
                            tracing::warn!(path = %lease.path, %error, "a lock stays exclusive although only readers are left");
                        }
                    }
                    Order::Leave => break beside(&mut gone, Box::pin(leave(&lease, &mut driver))).await,
                }
            }
        }
    }

    /// Watches the node until there is an order.
    async fn attend(&mut self, gone: &mut Gone) -> Order {
        let mut links = self.lease.session.links();
        loop {
            let health = links.borrow_and_update().health;
            self.tell_health(health);
            let (lease, is_suspended) = (&*self.lease, self.is_suspended);
            lease.loss_by_now();
            tokio::select! {
                biased;
                loss = &mut *gone => {
                    lease.lose(loss);
                    self.heartbeats = None;
                }
                // Polled behind `gone`, whose request confirms the lease, so that its holders are told at once.
                order = lease.changed().until(|| lease.next_order()) => return order,
                // Boxed, so that a held lock has no room for it.
                Some(()) = OptionFuture::from(is_suspended.then(|| Box::pin(lease.confirmed()))) => {}
                _ = links.changed() => {}
            }
        }
    }

    /// Tells the holders that the lease is suspended, or confirmed again.
    fn tell_health(&mut self, health: Health) {
        let tell = match (health, self.is_suspended) {
            (Health::Suspended, false) => Witness::suspended,
            (Health::Connected, true) if self.lease.is_confirmed() => Witness::confirmed,
            _ => return,
        };
        self.is_suspended = !self.is_suspended;
        self.lease.tell(tell);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.lease.holders.outcome().is_none() {
            finish(&self.lease, End::Lost, None);
        }
    }
}

/// Resolves when a node is gone, or belongs to another session.
///
/// It is polled until it is dropped, because its requests are among those whose number is bounded: one that is under way and
/// never polled again would keep its place for good.
type Gone = Fuse<Pin<Box<dyn Future<Output = LossReason> + Send>>>;

/// Performs an order while another wait goes on. The order may end that wait.
fn beside<T>(other: impl Future, order: impl Future<Output = T>) -> impl Future<Output = T> {
    or(order, other.then(|_| pending()))
}

/// Withdraws the contender, and tells when the request for that is on its way.
async fn leave(lease: &Lease, driver: &mut Driver) {
    let tell = async {
        lease.own_node.until(|news| news.is_leaving).await;
        // Meanwhile the client library's task, which runs on this thread too, writes the request.
        yield_now().await;
        lease.own_node.note(|news| news.is_handed_over = true);
    };
    let end = beside(tell, driver.withdraw()).await;
    finish(lease, end, driver.refusal());
}

/// Ends the lease with the outcome of its release.
fn finish(lease: &Lease, end: End, refusal: Option<LockError>) {
    let outcome = outcome(lease, end, refusal);
    // A client that closes its session is told that its locks are lost, and deletes their nodes before.
    let is_deleted = matches!(end, End::Withdrawn);
    // Those that held the lock when it was lost have been told. The others have given it back.
    for holding in lease.holders.lose(|_| true) {
        holding.end(match &outcome {
            Ok(()) => HoldEnd::Released,
            Err(LockError::Lost { reason: LossReason::SessionEnded, .. }) if is_deleted => HoldEnd::Released,
            Err(LockError::Lost { reason, .. }) => HoldEnd::Lost(*reason),
            Err(error) => HoldEnd::Failed(error.clone()),
        });
    }
    lease.holders.end(outcome);
}

/// Replaces the writer's node with a reader's. The lease continues meanwhile.
async fn downgrade(lease: &Lease, driver: &mut Driver) -> Result<(), LockError> {
    lease.check()?;
    let writer = lease.begin_replacement();
    let outcome = driver.downgrade().await;
    let present = match &outcome {
        Ok(Ok(reader)) => Some(driver.path().child(&reader.name).into()),
        Ok(Err(_)) | Err(_) => writer,
    };
    lease.end_replacement(present);
    outcome.map_err(|loss| lease.lost_error(lease.lose(loss)))??;
    lease.check()?;
    lease.tell(Witness::downgraded);
    Ok(())
}

fn outcome(lease: &Lease, end: End, refusal: Option<LockError>) -> Result<(), LockError> {
    if let Some(reason) = lease.loss() {
        return Err(lease.lost_error(reason));
    }
    match (end, refusal) {
        (End::Withdrawn | End::Unnumbered | End::Mixed(_), _) => Ok(()),
        (End::Abandoned, Some(refusal)) => Err(refusal),
        (End::Lost | End::Abandoned, _) => Err(lease.lost_error(lease.lose(LossReason::SessionEnded))),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake};

    use futures_util::poll;
    use zklock_testkit::wire::Opcode;

    use crate::client::{connected, proxied};
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
        let (_server, client) = connected().await;
        let (mut events, mutex) = (client.events(), client.mutex("/a").unwrap());
        let guard = mutex.lock().await.unwrap();
        let lease = guard.holds()[0].lease().clone();
        let waiting = tokio::spawn(async move { mutex.lock().await.map(drop) });
        next(&mut events, |kind| matches!(kind, LockEventKind::Queued { .. }).then_some(())).await;
        // The write keeps the next call from the lock.
        lease.begin_write();
        let mut releasing = pin!(guard.release());
        assert!(poll!(&mut releasing).is_pending());
        lease.lose(LossReason::NodeDeleted);
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

    /// Counts the times that it is woken.
    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_call_that_waits_for_its_release_is_woken_by_nothing_but_its_end() {
        let (_server, proxy, client) = proxied().await;
        let guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let answer = proxy.on_reply(Opcode::DELETE).hold();
        let mut releasing = pin!(guard.release());
        let wakes = Arc::new(Wakes::default());
        let waker = wakes.clone().into();
        let mut poll = || releasing.as_mut().poll(&mut Context::from_waker(&waker));
        // The first one lets other calls of this thread run.
        assert!(poll().is_pending() && poll().is_pending());
        let before = wakes.0.load(Ordering::SeqCst);
        answer.struck().await;
        assert_eq!(wakes.0.load(Ordering::SeqCst), before);
        answer.release();
        releasing.await.unwrap();
    }
}
