//! The task of a local queue, on the client's thread: it contends for the lock, leaves its queue, and watches deadlines.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_lite::future::poll_once;
use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;
use tracing::field::display;

use crate::client::settings::WaitWarning;
use crate::contend::{Contested, Wanted, contend};
use crate::session::drive::Progress;
use crate::time::sleep_until;

use super::queue::{LocalQueue, answer};
use super::state::Need;

/// The task of a local queue. If it ends early, because the client's thread ended or a bug made it panic, it fails the calls,
/// and later calls start another task.
struct Task(
    /// `None` once it has ended.
    Option<Arc<LocalQueue>>,
);

impl LocalQueue {
    /// Starts the task.
    pub(super) fn start(self: &Arc<Self>) {
        // Made here rather than in the future, which may be dropped before its first poll.
        let (queue, mut task) = (self.clone(), Task(Some(self.clone())));
        self.worker.tasks.spawn(async move {
            queue.run().await;
            task.0.take();
        });
    }

    /// Does what the calls need until nobody waits.
    async fn run(self: &Arc<Self>) {
        let (closing, mut is_closed) = (&self.worker.closing, false);
        // In the memory of the task: most tasks have a contender from the beginning.
        let mut contest = pin!(None);
        let mut cancel: Option<CancellationToken> = None;
        let mut warning = WaitWarning::new(&self.worker.settings);
        let mut seen_vacant = None;
        loop {
            let log = self.log_long_wait(&mut warning);
            let expired = self.state.lock().expire(Instant::now());
            answer(expired, |waited| Err(self.timeout(waited)));
            self.change(|state, now| state.serve(now));
            let need = self.state.lock().next();
            match need {
                Need::Contend(entry) => {
                    let cancel = cancel.insert(CancellationToken::new());
                    let queue = self.clone();
                    let listener = Arc::new(move |progress| queue.note(progress));
                    let wanted = (self.wanted(entry.mode), entry.contention);
                    contest.set(Some(contend(cancel, &self.worker, &self.path, wanted, listener)));
                    // Meanwhile, the tasks of the nodes that have left delete them.
                    yield_now().await;
                }
                Need::Withdraw => cancel.iter().for_each(CancellationToken::cancel),
                // The calls of a client that gives a lock back often come again in a moment.
                Need::Leave(node, grants) => {
                    if closing.is_cancelled() || seen_vacant.replace((node, grants)) == Some((node, grants)) {
                        self.change(|state, _| {
                            state.leave();
                            Vec::new()
                        });
                    } else {
                        yield_now().await;
                    }
                }
                Need::Wait(until) => {
                    let soonest = until.into_iter().chain(log).min();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => {
                            is_closed = true;
                            let calls = self.state.lock().drain();
                            answer(calls, |_| Err(self.worker.closed(&self.path)));
                        }
                        Some(end) = OptionFuture::from(contest.as_mut().as_pin_mut()) => {
                            contest.set(None);
                            self.conclude(end);
                        }
                        () = self.changed.notified() => {}
                        Some(()) = self.lease_changes() => {}
                        Some(()) = OptionFuture::from(soonest.map(sleep_until)) => {}
                    }
                }
                Need::Nothing => return,
            }
        }
    }

    /// Takes note of the progress of the contender.
    fn note(&self, progress: Progress) {
        // A contender at the gate of a semaphore has no permit.
        let front = match (&progress, &self.key) {
            (Progress::Behind(holder), Wanted::Place(_)) => Some(holder.clone()),
            _ => None,
        };
        *self.front.lock() = front.map(Box::new);
        match progress {
            Progress::Queued(count) => {
                let contended = self.state.lock().placed(Some(count));
                answer(contended, |_| Ok(None));
                self.tell_queued();
            }
            Progress::Connecting => drop(self.state.lock().placed(None)),
            Progress::Entering | Progress::Behind(_) => {}
        }
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, end: Contested) {
        *self.front.lock() = None;
        match end {
            Ok(Some(claims)) => {
                self.change(|state, now| state.headed(claims, now));
                self.tell_queued();
            }
            Ok(None) => {
                let contended = self.state.lock().contended();
                answer(contended, |_| Ok(None));
            }
            Err(error) => {
                let mut state = self.state.lock();
                state.contender = None;
                // One that was withdrawn is closed.
                let calls = if error.is_closed() { Vec::new() } else { state.drain() };
                drop(state);
                answer(calls, |_| Err(error.clone()));
            }
        }
    }

    /// Waits until a change of a lease has given the task work. Returns `None` if there is no lease.
    async fn lease_changes(&self) -> Option<()> {
        let leases: Vec<_> = {
            let state = self.state.lock();
            let claims = state.held.iter().flat_map(|held| &held.claim);
            claims.map(|claim| claim.lease().clone()).collect()
        };
        // The calls in line rely on the nodes.
        leases.iter().for_each(|lease| lease.urge());
        // All leases are registered before the first look, which is then one for all of them.
        let is_registered = AtomicBool::new(false);
        let has_news = || is_registered.load(Ordering::Relaxed) && self.state.lock().has_news(Instant::now());
        let changes: FuturesUnordered<_> = leases.iter().map(|lease| lease.until(has_news)).collect();
        let mut changes = pin!(changes);
        poll_once(changes.next()).await;
        is_registered.store(true, Ordering::Relaxed);
        if has_news() { Some(()) } else { changes.next().await }
    }

    /// Logs that the calls wait long, if it is time for that. Returns the next time.
    fn log_long_wait(&self, warning: &mut WaitWarning) -> Option<Instant> {
        let since = self.state.lock().first()?.deadline.started;
        warning.check(since, |waited, left_out| {
            let ((phase, holder), calls) = (self.in_the_way(), self.state.lock().waiting.len());
            let (path, holder) = (&self.path, holder.as_ref().map(display));
            tracing::warn!(%path, ?waited, ?phase, holder, calls, left_out, "a call has waited long for its lock");
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Some(queue) = &self.0 else { return };
        *queue.front.lock() = None;
        let mut calls = Vec::new();
        queue.change(|state, _| {
            calls = state.abandon();
            Vec::new()
        });
        answer(calls, |_| Err(queue.worker.closed(&queue.path)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::client::connected;
    use crate::error::{Holder, LockError};
    use crate::local_queue::LocalQueues;
    use crate::path::NodePath;

    use super::*;

    #[tokio::test]
    async fn a_contender_that_enters_again_is_behind_nobody_that_was_in_front_of_it_before() {
        let (_server, client) = connected().await;
        let _guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let queues: &LocalQueues = client.local_queues().get_or_default();
        let path = NodePath::new(client.worker().root(), "/a").unwrap();
        let line = &queues.at(&path)[0];
        let holder = || match line.timeout(Duration::ZERO) {
            LockError::Timeout { holder, .. } => holder,
            other => panic!("{other}"),
        };
        let gone = Holder::other(b"billing-7", 7, 0, 1);
        // It has work to do from now on.
        line.state.lock().placed(Some(1));
        line.note(Progress::Behind(gone.clone()));
        assert_eq!(holder(), Some(gone));
        line.note(Progress::Entering);
        assert_eq!(holder(), Some(Holder::this_client(1)));
    }
}
