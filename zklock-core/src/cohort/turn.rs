//! The task of one line, on the client's thread: it contends for the lock, leaves its queue, and watches
//! deadlines.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::select_all;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::acquire::{self, Contested, Onlooker, Use, Wanted};
use crate::client::settings::WaitWarning;
use crate::error::LockError;
use crate::session::drive::{Contention, Progress};

use super::attendance::{Attendance, expiry};
use super::call::{Call, Manner};
use super::calls::{Answer, Caller, Cohort};
use super::key::{Key, Settled};
use super::line::{Agenda, Entry, Kept, Served};

impl Attendance {
    /// Performs the work of a line until nobody waits in it.
    pub(super) async fn run(&self) {
        let cohort = &self.cohort;
        let closing = cohort.worker.closing();
        // In the memory of the task: most tasks have a contender from the beginning.
        let mut contest = pin!(None);
        let mut cancel: Option<CancellationToken> = None;
        let mut settled: Settled = Wanted::Place;
        let mut warning = WaitWarning::new(cohort.worker.settings());
        loop {
            let log = cohort.log_long_wait(&mut warning);
            cohort.expire();
            let agenda = cohort.line().agenda(Instant::now());
            match agenda {
                Agenda::Enter(entry) => {
                    let cancel = cancel.insert(CancellationToken::new());
                    contest.set(Some(cohort.contend((entry, settled), cancel)));
                }
                Agenda::Withdraw => cancel.iter().for_each(CancellationToken::cancel),
                Agenda::LookAgain if closing.is_cancelled() => {}
                Agenda::LookAgain => yield_now().await,
                Agenda::Leave(lease) => {
                    drop(lease);
                    // The keeper deletes the node before another one is created.
                    yield_now().await;
                }
                Agenda::Downgrade(lease) => {
                    lease.iter().for_each(|lease| drop(lease.downgrade()));
                    // The last claim ends after the order, so that the keeper performs both.
                    drop(lease);
                }
                Agenda::Sleep { until, kept } => {
                    let is_closed = cohort.line().is_closed();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => cohort.close(),
                        end = ended(contest.as_mut()) => {
                            contest.set(None);
                            // The calls in line keep their standing when the client changes its node.
                            if end.as_ref().is_ok_and(Option::is_some) {
                                settled = Wanted::NextPlace;
                            }
                            cohort.conclude(end);
                        }
                        () = cohort.rung() => {}
                        () = cohort.any_changes(kept) => {}
                        () = expiry(until, log) => {}
                    }
                }
                Agenda::Over => return,
            }
        }
    }
}

impl Cohort {
    /// Begins to contend.
    fn contend(
        self: &Arc<Self>,
        (entry, settled): (Entry, Settled),
        cancel: &CancellationToken,
    ) -> impl Future<Output = Contested> + Send + use<> {
        let contention = match entry.manner {
            Manner::Wait => Contention::Wait,
            Manner::Try => Contention::Leave,
        };
        let wanted = (self.key().wanted(entry.side, settled), contention);
        acquire::contend(cancel, &self.worker, self.path(), wanted, self.clone())
    }

    /// Takes note that the contender waits behind this many others.
    fn queue(&self, count: usize) -> Use {
        let (contended, is_waited_for) = {
            let mut line = self.line();
            (line.behind(count), line.waiting() > 0)
        };
        turn_away(contended);
        self.tell_queued();
        if is_waited_for { Use::GoesOn } else { Use::Over }
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, end: Contested) {
        self.meet(None);
        match end {
            Ok(Some(leases)) => {
                let served = self.line().headed(leases, Instant::now());
                self.deliver(served);
            }
            Ok(None) => {
                let contended = self.line().contended();
                turn_away(contended);
            }
            // It was withdrawn.
            Err(LockError::Closed { .. }) => {
                let refused = self.line().ended();
                turn_away(refused);
            }
            Err(error) => {
                let calls = self.line().refused();
                self.fail(calls, |_, _| error.clone());
            }
        }
    }

    /// Waits until one of these may be passed on, is lost, or has company.
    async fn any_changes(self: &Arc<Self>, kept: Vec<Kept>) {
        if kept.is_empty() {
            return pending().await;
        }
        select_all(kept.into_iter().map(|kept| Box::pin(self.kept_changes(kept)))).await;
    }

    async fn kept_changes(self: &Arc<Self>, Kept { tenancy, is_open, has_company }: Kept) {
        let tenures: Vec<_> = {
            let line = self.line();
            let Some(leases) = line.lease(tenancy) else { return };
            leases.iter().map(|lease| lease.tenure().clone()).collect()
        };
        if is_open {
            for tenure in &tenures {
                tenure.passable().await;
            }
            return self.serve();
        }
        tenures.iter().for_each(|tenure| tenure.urge());
        let accompanied = tenures.iter().map(|tenure| Box::pin(tenure.accompanied()));
        tokio::select! {
            _ = select_all(tenures.iter().map(|tenure| Box::pin(tenure.lost()))) => {
                let left = self.line().lost(tenancy);
                self.deliver(Served { left: left.into_iter().collect(), ..Served::default() });
            }
            _ = select_all(accompanied), if !has_company => {}
        }
    }
}

/// Answers calls that do not wait for others.
fn turn_away(calls: Vec<Call<Caller>>) {
    for caller in calls.into_iter().filter_map(|call| call.caller) {
        caller.reply.send(Answer::Contended).ok();
    }
}

impl Onlooker for Cohort {
    fn note(&self, progress: Progress) -> Use {
        // A contender at the gate of a semaphore has no permit.
        let front = match (&progress, self.key()) {
            (Progress::Behind(holder), Key::Lock { .. }) => Some(holder.clone()),
            _ => None,
        };
        self.meet(front);
        match progress {
            Progress::Queued(count) => return self.queue(count),
            Progress::Connecting => self.line().restarted(),
            Progress::Entering | Progress::Behind(_) => {}
        }
        Use::GoesOn
    }
}

async fn ended(contest: Pin<&mut Option<impl Future<Output = Contested>>>) -> Contested {
    match contest.as_pin_mut() {
        Some(contest) => contest.await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zklock_testkit::EmbeddedServer;

    use crate::Config;
    use crate::cohort::Cohorts;
    use crate::error::Holder;
    use crate::path::NodePath;

    use super::*;

    #[tokio::test]
    async fn a_contender_that_enters_again_is_behind_nobody_that_was_in_front_of_it_before() {
        let server = EmbeddedServer::start().unwrap();
        let client = Config::new(server.connect_string()).connect().await.unwrap();
        let _guard = client.mutex("/a").unwrap().lock().await.unwrap();
        let cohorts: &Cohorts = client.cohorts().get_or_default();
        let path = NodePath::new(client.worker().root(), "/a").unwrap();
        let line = &cohorts.lines.at(&path)[0];
        let holder = || match line.timeout(Duration::ZERO) {
            LockError::Timeout { holder, .. } => holder,
            other => panic!("{other}"),
        };
        let gone = Holder::other(b"billing-7", 7, 0, 1);
        // It has work to do from now on.
        line.line().behind(1);
        line.note(Progress::Behind(gone.clone()));
        assert_eq!(holder(), Some(gone));
        line.note(Progress::Entering);
        assert_eq!(holder(), Some(Holder::this_client(1)));
    }
}
