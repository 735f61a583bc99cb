//! The task of one line, on the client's thread: it contends for the lock, leaves its queue, and watches
//! deadlines.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::acquire::{self, Contested, Onlooker, Use, Wanted};
use crate::client::settings::WaitWarning;
use crate::error::LockError;
use crate::lease::Lease;
use crate::queue::claim::{Place, Role};
use crate::session::drive::Progress;

use super::attendance::{Attendance, expiry};
use super::call::Side;
use super::calls::{Answer, Caller, Cohort, Local};
use super::desk::Desk;
use super::line::{Agenda, Kept, Line};
use super::rules::{Rules, Served};

/// The line of one client's calls.
pub(super) type CallerLine = Line<Caller, Lease, Desk>;

/// The properties that tell the lines at one path apart.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    recipe: Recipe,
    /// `None` for most lines, which wait for none.
    also_behind: Option<Box<OtherNames>>,
}

/// The contenders of other clients to wait for, by the text in front of their sequence.
#[derive(Clone, PartialEq, Eq)]
struct OtherNames(Arc<[String]>);

impl Key {
    pub(super) fn new(recipe: Recipe, also_behind: &Arc<[String]>) -> Self {
        let also_behind = Some(also_behind).filter(|names| !names.is_empty());
        Self { recipe, also_behind: also_behind.map(|names| Box::new(OtherNames(names.clone()))) }
    }

    fn also_behind(&self) -> Arc<[String]> {
        self.also_behind.as_ref().map(|names| names.0.clone()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    Mutex,
    ReadWrite,
}

impl Local for CallerLine {
    type Key = Key;

    fn is_held_here(&self, _: &Key) -> bool {
        self.is_behind_own()
    }

    fn desk(&mut self) -> Option<&mut Desk> {
        self.desk_mut()
    }

    /// Performs the work of a line until nobody waits in it.
    fn attend(cohort: Arc<Cohort<Self>>) -> impl Future<Output = ()> + Send + 'static {
        let attendance = Attendance::new(cohort);
        async move {
            attendance.run().await;
            attendance.end();
        }
    }
}

impl Attendance<CallerLine> {
    async fn run(&self) {
        let cohort = &self.cohort;
        let closing = cohort.worker.closing();
        // In the memory of the task: most tasks have a contender from the beginning.
        let mut contest = pin!(None);
        let mut cancel: Option<CancellationToken> = None;
        let mut wanted: fn(Place) -> Wanted = Wanted::Place;
        let mut warning = WaitWarning::new(cohort.worker.settings());
        loop {
            let log = cohort.log_long_wait(&mut warning);
            cohort.expire();
            let agenda = cohort.rules().agenda(Instant::now());
            match agenda {
                Agenda::Enter(side) => {
                    let cancel = cancel.insert(CancellationToken::new());
                    contest.set(Some(cohort.contend((side, wanted), cancel)));
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
                    drop(lease.downgrade());
                    // The last claim ends after the order, so that the keeper performs both.
                    drop(lease);
                }
                Agenda::Sleep { until, kept } => {
                    let is_closed = cohort.rules().is_closed();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => cohort.close(),
                        end = ended(contest.as_mut()) => {
                            contest.set(None);
                            // The calls in line keep their standing when the client changes its node.
                            if end.as_ref().is_ok_and(Option::is_some) {
                                wanted = Wanted::NextPlace;
                            }
                            cohort.conclude(end);
                        }
                        () = cohort.rung() => {}
                        () = cohort.kept_changes(kept) => {}
                        () = expiry(until, log) => {}
                    }
                }
                Agenda::Over => return,
            }
        }
    }
}

impl Cohort<CallerLine> {
    /// Begins to contend.
    fn contend(
        self: &Arc<Self>,
        (side, wanted): (Side, fn(Place) -> Wanted),
        cancel: &CancellationToken,
    ) -> impl Future<Output = Contested> + Send + use<> {
        let role = match (self.key().recipe, side) {
            (Recipe::Mutex, _) => Role::Exclusive,
            (Recipe::ReadWrite, Side::Shared) => Role::Read,
            (Recipe::ReadWrite, Side::Exclusive) => Role::Write,
        };
        let wanted = wanted(Place { role, also_behind: self.key().also_behind() });
        acquire::contend(cancel, &self.worker, self.path(), wanted, self.clone())
    }

    /// Takes note that the contender waits behind this many others.
    fn queue(&self, count: usize) -> Use {
        let (contended, is_waited_for) = {
            let mut line = self.rules();
            (line.behind(count), line.waiting() > 0)
        };
        for caller in contended.into_iter().filter_map(|call| call.caller) {
            caller.reply.send(Answer::Contended).ok();
        }
        self.tell_queued();
        if is_waited_for { Use::GoesOn } else { Use::Over }
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, end: Contested) {
        self.meet(None);
        match end.map(|leases| leases.and_then(|mut leases| leases.pop())) {
            Ok(Some(lease)) => {
                let served = self.rules().headed(lease, Instant::now());
                self.deliver(served);
            }
            // It was withdrawn.
            Ok(None) | Err(LockError::Closed { .. }) => {
                let ended = self.rules().ended();
                for caller in ended.into_iter().filter_map(|call| call.caller) {
                    caller.reply.send(Answer::Contended).ok();
                }
            }
            Err(error) => {
                let calls = self.rules().refused();
                self.fail(calls, |_, _| error.clone());
            }
        }
    }

    /// Waits until a lease in line may be passed on, is lost, or has company.
    async fn kept_changes(self: &Arc<Self>, kept: Option<Kept>) {
        let Some(Kept { tenancy, is_open, has_company }) = kept else { return pending().await };
        let Some(tenure) = self.rules().lease(tenancy).map(|lease| lease.tenure().clone()) else { return };
        if is_open {
            tenure.passable().await;
            return self.serve();
        }
        tenure.urge();
        tokio::select! {
            _ = tenure.lost() => {
                let left = self.rules().lost(tenancy);
                self.deliver(Served { left: left.into_iter().collect(), ..Served::default() });
            }
            () = tenure.accompanied(), if !has_company => {}
        }
    }
}

impl Onlooker for Cohort<CallerLine> {
    fn note(&self, progress: Progress) -> Use {
        let front = if let Progress::Behind(holder) = &progress { Some(holder.clone()) } else { None };
        self.meet(front);
        match progress {
            Progress::Queued(count) => return self.queue(count),
            Progress::Connecting => self.rules().restarted(),
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
        line.rules().behind(1);
        line.note(Progress::Behind(gone.clone()));
        assert_eq!(holder(), Some(gone));
        line.note(Progress::Entering);
        assert_eq!(holder(), Some(Holder::this_client(1)));
    }
}
