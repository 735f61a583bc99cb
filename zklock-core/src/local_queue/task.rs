//! The task of a local queue, on the client's thread: it contends for the lock, leaves its queue, and watches deadlines.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{OptionFuture, select_all};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;
use tracing::field::display;

use crate::client::settings::WaitWarning;
use crate::contend::{self, Contested, Wanted};
use crate::error::LockError;
use crate::session::drive::Progress;
use crate::time::sleep_until;

use super::held::Watched;
use super::queue::{Answer, Caller, LocalQueue, look_at};
use super::state::{Call, Entry, Need};

/// The task of a local queue. If it ends early, because the client's thread ended or a bug made it panic, it fails the calls,
/// and later calls start another task.
struct Task {
    queue: Arc<LocalQueue>,
    is_over: bool,
}

impl LocalQueue {
    /// Starts the task.
    pub(super) fn start(self: &Arc<Self>) {
        // Made here rather than in the future, which may be dropped before its first poll.
        let task = Task { queue: self.clone(), is_over: false };
        self.worker.tasks.spawn(async move {
            task.queue.run().await;
            task.end();
        });
    }

    /// Does what the calls need until nobody waits.
    async fn run(self: &Arc<Self>) {
        let closing = &self.worker.closing;
        // In the memory of the task: most tasks have a contender from the beginning.
        let mut contest = pin!(None);
        let mut cancel: Option<CancellationToken> = None;
        let mut warning = WaitWarning::new(&self.worker.settings);
        let mut seen_vacant = None;
        loop {
            let log = self.log_long_wait(&mut warning);
            self.expire();
            let need = self.state.lock().next(Instant::now());
            match need {
                Need::GiveUp(left) => {
                    drop(left);
                    // The tasks of these nodes delete them meanwhile.
                    yield_now().await;
                }
                Need::Contend(entry) => {
                    let cancel = cancel.insert(CancellationToken::new());
                    contest.set(Some(self.contend(entry, cancel)));
                }
                Need::Withdraw => cancel.iter().for_each(CancellationToken::cancel),
                // The calls of a client that gives a lock back often come again in a moment.
                Need::Leave(node, grants) => {
                    if closing.is_cancelled() || seen_vacant.replace((node, grants)) == Some((node, grants)) {
                        self.state.lock().leave();
                    } else {
                        yield_now().await;
                    }
                }
                Need::Downgrade(node) => {
                    let claims = self.state.lock().take_held(node);
                    // The last claim ends after the order, so that the task of the node performs both.
                    claims.iter().flatten().for_each(|claim| drop(claim.lease().downgrade()));
                }
                Need::Wait(watched, until) => {
                    let is_closed = self.state.lock().is_closed();
                    let soonest = until.into_iter().chain(log).min();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => self.close(),
                        Some(end) = OptionFuture::from(contest.as_mut().as_pin_mut()) => {
                            contest.set(None);
                            self.conclude(end);
                        }
                        () = self.changed.notified() => {}
                        () = self.any_changes(&watched), if !watched.is_empty() => self.serve(),
                        Some(()) = OptionFuture::from(soonest.map(sleep_until)) => {}
                    }
                }
                Need::Nothing => return,
            }
        }
    }

    /// Begins to contend.
    fn contend(
        self: &Arc<Self>,
        entry: Entry,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Contested> + Send + use<> {
        let (queue, wanted) = (self.clone(), (self.wanted(entry.mode), entry.contention));
        contend::contend(
            cancel,
            &self.worker,
            &self.path,
            wanted,
            Arc::new(move |progress| queue.note(progress)),
        )
    }

    /// Takes note of the progress of the contender.
    fn note(&self, progress: Progress) {
        // A contender at the gate of a semaphore has no permit.
        let front = match (&progress, &self.key) {
            (Progress::Behind(holder), Wanted::Place(_)) => Some(holder.clone()),
            _ => None,
        };
        self.note_front(front);
        match progress {
            Progress::Queued(count) => {
                let contended = self.state.lock().behind(count);
                turn_away(contended);
                self.tell_queued();
            }
            Progress::Connecting => self.state.lock().restarted(),
            Progress::Entering | Progress::Behind(_) => {}
        }
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, end: Contested) {
        self.note_front(None);
        match end {
            Ok(Some(claims)) => {
                let grants = self.state.lock().headed(claims, Instant::now());
                self.deliver(grants);
                self.tell_queued();
            }
            Ok(None) => {
                let contended = self.state.lock().contended();
                turn_away(contended);
            }
            // It was withdrawn.
            Err(LockError::Closed { .. }) => self.state.lock().withdrawn(),
            Err(error) => {
                let calls = self.state.lock().refused();
                self.fail(calls, |_| error.clone());
            }
        }
    }

    /// Waits until the state of one of these is another one.
    async fn any_changes(&self, watched: &[Watched]) {
        select_all(watched.iter().map(|watched| Box::pin(self.node_changes(watched)))).await;
    }

    async fn node_changes(&self, &Watched { node, look, .. }: &Watched) {
        let leases: Vec<_> = {
            let state = self.state.lock();
            let Some(held) = state.node(node) else { return };
            held.claim.iter().map(|claim| claim.lease().clone()).collect()
        };
        // The calls in line rely on the node.
        leases.iter().for_each(|lease| lease.urge());
        let is_changed = || look_at(leases.iter()) != look;
        select_all(leases.iter().map(|lease| Box::pin(lease.until(is_changed)))).await;
    }

    /// Refuses all calls from now on.
    fn close(self: &Arc<Self>) {
        let calls = self.state.lock().close();
        self.fail(calls, |_| self.closed());
        self.serve();
    }

    /// Answers the calls whose time is over.
    fn expire(self: &Arc<Self>) {
        let calls = self.state.lock().expire(Instant::now());
        if !calls.is_empty() {
            self.fail(calls, |waited| self.timeout(waited));
            self.serve();
        }
    }

    /// Serves the calls that are left, which may need another node, or none.
    fn serve(self: &Arc<Self>) {
        let grants = self.state.lock().serve(Instant::now());
        self.deliver(grants);
    }

    /// Logs that the calls wait long, if it is time for that. Returns the next time.
    fn log_long_wait(&self, warning: &mut WaitWarning) -> Option<Instant> {
        let since = self.state.lock().first()?.caller.since;
        warning.check(since, |waited, left_out| {
            let ((phase, holder), calls) = (self.in_the_way(), self.state.lock().waiting());
            let (path, holder) = (&self.path, holder.as_ref().map(display));
            tracing::warn!(%path, ?waited, ?phase, holder, calls, left_out, "a call has waited long for its lock");
        })
    }
}

impl Task {
    fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.is_over {
            self.queue.note_front(None);
            // What is held stays with its present holders.
            let (calls, claims) = self.queue.state.lock().abandon();
            drop(claims);
            self.queue.fail(calls, |_| self.queue.closed());
        }
    }
}

/// Answers calls that do not wait for others.
fn turn_away(calls: Vec<Call<Caller>>) {
    for Call { caller, .. } in calls {
        caller.reply.send(Answer::Contended).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::client::connected;
    use crate::error::Holder;
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
        line.state.lock().behind(1);
        line.note(Progress::Behind(gone.clone()));
        assert_eq!(holder(), Some(gone));
        line.note(Progress::Entering);
        assert_eq!(holder(), Some(Holder::this_client(1)));
    }
}
