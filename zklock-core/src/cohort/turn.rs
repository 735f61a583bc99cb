//! The task of one line, on the client's thread: it contends for the lock, leaves its queue, and watches
//! deadlines.

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::yield_now;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use crate::acquire::{self, Contest, Wanted};
use crate::error::LockError;
use crate::lease::Lease;
use crate::queue::claim::{Place, Role};
use crate::session::drive::Progress;

use super::calls::{self, Answer, Cohort, Recipe};
use super::line::{Agenda, Kept, Served, Side};

/// Performs the work of a line until nobody waits in it.
pub(super) fn attend(cohort: Arc<Cohort>) -> calls::Attendance {
    // Created here rather than in the future, which may be dropped before its first poll.
    let attendance = Attendance { cohort, is_over: false };
    Box::pin(async move {
        attendance.run().await;
        attendance.end();
    })
}

/// Closes a line for good whose task ends early, because the client's thread ended or a bug made the task panic.
struct Attendance {
    cohort: Arc<Cohort>,
    is_over: bool,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        if !self.is_over {
            self.cohort.abandon();
        }
    }
}

/// A contender under way.
struct Contender {
    contest: Contest,
    cancel: CancellationToken,
}

impl Attendance {
    fn end(mut self) {
        self.is_over = true;
    }

    async fn run(&self) {
        let cohort = &self.cohort;
        let closing = cohort.worker.closing();
        let mut contender: Option<Contender> = None;
        let mut wanted: fn(Place) -> Wanted = Wanted::Place;
        loop {
            cohort.expire();
            let agenda = cohort.line().agenda(Instant::now());
            match agenda {
                Agenda::Enter(side) => contender = Some(cohort.contend(side, wanted)),
                Agenda::Withdraw => contender.iter().for_each(|contender| contender.cancel.cancel()),
                Agenda::LookAgain if closing.is_cancelled() => {}
                Agenda::LookAgain => yield_now().await,
                Agenda::Leave(lease) => {
                    drop(lease);
                    // The keeper deletes the node before another one is created.
                    yield_now().await;
                }
                Agenda::Downgrade(lease) => {
                    lease.downgrade_later();
                    // The last claim ends after the order, so that the keeper performs both.
                    drop(lease);
                }
                Agenda::Sleep { until, kept } => {
                    let is_closed = cohort.line().is_closed();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => cohort.close(),
                        end = ended(&mut contender) => {
                            contender = None;
                            // The calls in line keep their standing when the client changes its node.
                            if end.as_ref().is_ok_and(Option::is_some) {
                                wanted = Wanted::NextPlace;
                            }
                            cohort.conclude(end);
                        }
                        () = cohort.bell.notified() => {}
                        () = cohort.kept_changes(kept) => {}
                        () = expiry(until) => {}
                    }
                }
                Agenda::Over => return,
            }
        }
    }
}

impl Cohort {
    /// Refuses all calls from now on.
    fn close(&self) {
        let calls = self.line().close();
        self.fail(calls, |cohort, _| cohort.closed());
    }

    /// Refuses all calls from now on, and leaves the lock to its present holders.
    fn abandon(&self) {
        let (calls, lease) = self.line().abandon();
        drop(lease);
        self.fail(calls, |cohort, _| cohort.closed());
    }

    /// Answers the calls whose time is over.
    fn expire(self: &Arc<Self>) {
        let now = Instant::now();
        let calls = self.line().expire(now);
        if !calls.is_empty() {
            self.fail(calls, Self::timeout);
            // The next call may need another node, or none.
            let served = self.line().serve(now);
            self.deliver(served);
        }
    }

    fn contend(self: &Arc<Self>, side: Side, wanted: fn(Place) -> Wanted) -> Contender {
        let role = match (self.key().recipe, side) {
            (Recipe::Mutex, _) => Role::Exclusive,
            (Recipe::ReadWrite, Side::Shared) => Role::Read,
            (Recipe::ReadWrite, Side::Exclusive) => Role::Write,
        };
        let wanted = wanted(Place { role, also_behind: self.key().also_behind.clone() });
        let cancel = CancellationToken::new();
        let (cohort, stop) = (self.clone(), cancel.clone());
        let told = move |progress| {
            if cohort.note(progress) {
                // The contender leaves before it asks for a watch.
                stop.cancel();
            }
        };
        let contest = acquire::contend(&cancel, &self.worker, &self.path, wanted, told);
        Contender { contest, cancel }
    }

    /// Takes note of the contender's progress. Returns whether the contender is of no use any more.
    fn note(self: &Arc<Self>, progress: Progress) -> bool {
        let count = match progress {
            Progress::Queued(count) => count,
            Progress::Connecting => {
                self.line().restarted();
                return false;
            }
            Progress::Entering => return false,
        };
        let (contended, is_useless) = {
            let mut line = self.line();
            (line.behind(count), line.waiting() == 0)
        };
        for caller in contended.into_iter().filter_map(|call| call.caller) {
            caller.reply.send(Answer::Contended).ok();
        }
        self.tell_queued();
        is_useless
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, end: Result<Option<Vec<Lease>>, LockError>) {
        match end.map(|leases| leases.and_then(|mut leases| leases.pop())) {
            Ok(Some(lease)) => {
                let served = self.line().headed(Arc::new(lease), Instant::now());
                self.deliver(served);
            }
            // It was withdrawn.
            Ok(None) | Err(LockError::Closed { .. }) => {
                let ended = self.line().ended();
                for caller in ended.into_iter().filter_map(|call| call.caller) {
                    caller.reply.send(Answer::Contended).ok();
                }
            }
            Err(error) => {
                let calls = self.line().refused();
                self.fail(calls, |_, _| error.clone());
            }
        }
    }

    /// Waits until a lease in line may be passed on, is lost, or has company.
    async fn kept_changes(self: &Arc<Self>, kept: Option<Kept>) {
        let Some(Kept { tenancy, is_open }) = kept else { return pending().await };
        let Some(tenure) = self.line().lease(tenancy).map(|lease| lease.tenure().clone()) else { return };
        tenure.urge();
        if is_open {
            tenure.known().await;
            tokio::select! {
                _ = tenure.writes().drained() => {}
                _ = tenure.lost() => {}
            }
            let served = self.line().serve(Instant::now());
            return self.deliver(served);
        }
        let has_company = tenure.company().is_some();
        tokio::select! {
            _ = tenure.lost() => {
                let left = self.line().lost(tenancy);
                self.deliver(Served { left: left.into_iter().collect(), ..Served::default() });
            }
            () = tenure.accompanied(), if !has_company => {}
        }
    }
}

async fn ended(contender: &mut Option<Contender>) -> Result<Option<Vec<Lease>>, LockError> {
    match contender {
        Some(contender) => contender.contest.as_mut().await,
        None => pending().await,
    }
}

async fn expiry(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => pending().await,
    }
}
