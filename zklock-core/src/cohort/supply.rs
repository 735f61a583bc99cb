//! The task of one pool, on the client's thread: it contends for permits, withdraws contenders, and watches
//! deadlines.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::select_all;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::acquire::{self, Contest, Contested, Count, Patience, Permits, Wanted};
use crate::client::settings::{Queueing, WaitWarning};
use crate::error::LockError;
use crate::lease::{Lease, Tenure};
use crate::session::drive::Progress;

use super::attendance::{Attendance, expiry};
use super::calls::{Caller, Cohort, Local};
use super::desk::Desk;
use super::pool::{Agenda, ContenderId, MOST, Pool};
use super::rules::Rules;
use super::tenancy::TenancyId;

/// The pool of one client's permits.
pub(super) type CallerPool = Pool<Caller, Lease, Desk>;

impl Local for CallerPool {
    type Key = Count;

    fn is_held_here(&self, count: &Count) -> bool {
        match count {
            Count::Agreed(of) => usize::try_from(*of).is_ok_and(|of| self.held() >= of),
            Count::Shared { .. } => false,
        }
    }

    fn desk(&mut self) -> Option<&mut Desk> {
        self.desk_mut()
    }

    /// Performs the work of a pool until nobody waits for its permits.
    fn attend(cohort: Arc<Cohort<Self>>) -> impl Future<Output = ()> + Send + 'static {
        let attendance = Attendance::new(cohort);
        async move {
            attendance.run().await;
            attendance.end();
        }
    }
}

/// Returns the pool of a semaphore with this number of permits.
pub(super) fn pool(queueing: Queueing, count: &Count) -> CallerPool {
    let most = match count {
        // More contenders than permits would be of no use.
        Count::Agreed(of) => MOST.min(usize::try_from(*of).unwrap_or(MOST)),
        Count::Shared { .. } => MOST,
    };
    Pool::new(queueing, most)
}

/// A contender under way.
struct Contender {
    id: ContenderId,
    contest: Contest,
    cancel: CancellationToken,
}

impl Attendance<CallerPool> {
    async fn run(&self) {
        let cohort = &self.cohort;
        let closing = cohort.worker.closing();
        let mut contenders: Vec<Contender> = Vec::new();
        let mut warning = WaitWarning::new(cohort.worker.settings());
        loop {
            let log = cohort.log_long_wait(&mut warning);
            cohort.expire();
            let agenda = cohort.rules().agenda(Instant::now());
            match agenda {
                Agenda::Enter(id) => contenders.push(cohort.contend(id)),
                Agenda::Withdraw(id) => {
                    let withdrawn = contenders.iter().filter(|contender| contender.id == id);
                    withdrawn.for_each(|contender| contender.cancel.cancel());
                }
                Agenda::Sleep { until, parked } => {
                    let is_closed = cohort.rules().is_closed();
                    tokio::select! {
                        biased;
                        () = closing.cancelled(), if !is_closed => cohort.close(),
                        (id, end) = ended(&mut contenders) => cohort.conclude(id, end),
                        () = cohort.rung() => {}
                        () = cohort.parked_change(parked) => {}
                        () = expiry(until, log) => {}
                    }
                }
                Agenda::Over => return,
            }
        }
    }
}

impl Cohort<CallerPool> {
    fn contend(self: &Arc<Self>, id: ContenderId) -> Contender {
        let wanted = Wanted::Permits(Permits { wanted: 1, count: self.key().clone() });
        let (cohort, cancel) = (self.clone(), CancellationToken::new());
        let onlooker = Arc::new(move |progress| cohort.note(id, progress));
        let contest = acquire::contend_boxed(&cancel, &self.worker, self.path(), wanted, onlooker);
        Contender { id, contest, cancel }
    }

    /// Takes note of a contender's progress.
    fn note(&self, id: ContenderId, progress: Progress) {
        match progress {
            Progress::Queued(count) => {
                self.rules().behind(id, Some(count));
                self.tell_queued();
            }
            Progress::Connecting => self.rules().behind(id, None),
            // A contender at the gate has no permit.
            Progress::Entering | Progress::Behind(_) => {}
        }
    }

    /// Handles the end of a contender.
    fn conclude(self: &Arc<Self>, id: ContenderId, end: Contested) {
        match end.map(|leases| leases.and_then(|mut leases| leases.pop())) {
            Ok(Some(lease)) => {
                let tenure = lease.tenure().clone();
                let served = self.rules().headed(id, lease, Instant::now());
                self.deliver(served);
                if self.waiting() > 0 {
                    tenure.urge();
                }
            }
            // It was withdrawn.
            Ok(None) | Err(LockError::Closed { .. }) => self.rules().ended(id),
            Err(error) => {
                let calls = self.rules().refused(id);
                self.fail(calls, |_, _| error.clone());
                self.serve();
            }
        }
    }

    /// Waits until no contender is left that no call waits for. It would be in the way of an attempt that does not
    /// wait for others.
    pub(super) async fn clear_the_way(self: &Arc<Self>, patience: Patience) {
        if self.rules().has_spare() {
            let cohort = self.clone();
            let cleared = async move {
                while cohort.rules().has_spare() {
                    sleep(PAUSE).await;
                }
            };
            self.worker.call(patience.left(), cleared).await.ok();
        }
    }

    /// Waits until a permit may be passed on, or never can be again.
    async fn parked_change(self: &Arc<Self>, parked: Vec<TenancyId>) {
        let tenures: Vec<Arc<Tenure>> = {
            let pool = self.rules();
            parked.into_iter().filter_map(|tenancy| Some(pool.lease(tenancy)?.tenure().clone())).collect()
        };
        if tenures.is_empty() {
            return pending().await;
        }
        select_all(tenures.iter().map(|tenure| Box::pin(tenure.passable()))).await;
        self.serve();
    }
}

/// Waits for the end of a contender, and removes it.
async fn ended(contenders: &mut Vec<Contender>) -> (ContenderId, Contested) {
    if contenders.is_empty() {
        return pending().await;
    }
    let (end, index, _) = select_all(contenders.iter_mut().map(|contender| &mut contender.contest)).await;
    (contenders.remove(index).id, end)
}

/// The pause between looks at contenders that leave.
const PAUSE: Duration = Duration::from_millis(1);
