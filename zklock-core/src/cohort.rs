//! One contender of a client for all of its calls at a lock.
//!
//! The calls of one client queue in memory, and the client contends with one node. A call that gives the lock
//! back passes it on to the next one, in its own thread and without a request. The idea is that of lock
//! cohorting (D. Dice, V. Marathe, N. Shavit, *Lock Cohorting*, ACM TOPC 1(2), 2015).
//!
//! ```text
//!  calls ──► line ──► Grant, one after the other, or many to read
//!              │
//!              └──► turn: the task that contends, leaves, and watches deadlines ──► acquire
//! ```
//!
//! * [`mod@line`], [`pool`](mod@pool): the local queue and the rules of passing, as pure state machines.
//! * [`rules`]: the events and effects that both have.
//! * [`call`], [`waiters`], [`tenancy`], [`attendant`]: one call, the calls that wait, the bounds of one node, and the
//!   state of a task. Both are made of these.
//! * [`calls`]: one line or pool, with the leases and the callers that belong to it.
//! * [`desk`]: the state that only the task of a line or pool needs.
//! * [`waiting`](mod@waiting): a call that waits.
//! * [`turn`], [`supply`]: the task of one line, and of one pool, on the client's thread.
//! * [`attendance`]: the end of a task, and of the calls that it attends to.
//! * [`grant`]: one holder's part of a lock.
//! * [`registry`]: the cohorts of one client.
//!
//! While other clients wait, a client keeps its turn for a bounded number of grants and a bounded time
//! ([`Queueing`](crate::Queueing)).
//!
//! The calls for one permit of a semaphore share a *pool* of the client's permits in the same way, with several
//! contenders under way. Calls for several permits have contenders of their own, and elections have no cohort.
//!
//! Uses the layers below: `acquire`, `client`, `lease`, `session`, `queue`, `events`, `path`, `token`, `error` and
//! `interleaving`.
//!
//! # Invariants
//!
//! 1. No wake-up, send, event or user code runs under the mutex of a cohort, and no cohort is locked under a lock
//!    of the registry.
//! 2. A waiter is the sender of a channel. A grant whose receiver is gone goes to the next waiter.

mod attendance;
mod attendant;
mod call;
mod calls;
mod desk;
mod grant;
mod line;
mod pool;
mod registry;
mod rules;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod screen;
mod sole;
#[cfg(test)]
mod stub;
mod supply;
mod tenancy;
#[cfg(test)]
mod trail;
mod turn;
mod waiters;
mod waiting;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::Either;
use smallvec::smallvec;

use crate::acquire::{Count, Patience, Permits, Wanted};
use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{Holder, LockError};
use crate::events::Witness;
use crate::path::NodePath;
use crate::queue::claim::{Place, Role};
use crate::session::drive::Contention;

use self::call::Side;
use self::calls::{Cohort, Local};
use self::line::Line;
use self::registry::Registry;
use self::supply::CallerPool;
use self::turn::{CallerLine, Key, Recipe};

pub(crate) use self::grant::{Grant, Grants, Release};

/// The cohorts of one client.
#[derive(Default)]
pub(crate) struct Cohorts {
    lines: Registry<Cohort<CallerLine>>,
    pools: Registry<Cohort<CallerPool>>,
}

/// Acquires the lock as one of the client's calls, or with a contender of its own. Returns `None` if others have it and the
/// caller does not want to wait. The caller announces the holds. `witness` tells the listeners how many contenders are in
/// front.
///
/// Dropping the future leaves the line, or withdraws the contender in the background.
pub(crate) fn enter<'a, P: Fn() -> Patience + Sync>(
    client: &'a Client,
    (path, wanted): (&'a NodePath, &'a Wanted),
    (patience, witness): (&'a P, &'a Witness),
) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send + use<'a, P> {
    let waited = (patience, witness);
    // The others are boxed, so that the calls in line have small futures: there may be many of them.
    match wanted {
        Wanted::Place(place) => {
            let cohorts: &Cohorts = client.cohorts().get_or_default();
            let (cohort, side) = cohorts.line(client.worker(), path, place);
            Either::Left(cohort.enter(side, waited).map(one))
        }
        Wanted::Permits(permits @ Permits { wanted: 1, .. }) => {
            Either::Right(Either::Left(Box::pin(enter_pool(client, (path, permits), waited))))
        }
        Wanted::NextPlace(_) | Wanted::Permits(_) | Wanted::Office { .. } => {
            Either::Right(Either::Right(Box::pin(sole::enter(client.worker(), path, wanted, waited))))
        }
    }
}

fn one(grant: Result<Option<Arc<Grant>>, LockError>) -> Result<Option<Grants>, LockError> {
    Ok(grant?.map(|grant| smallvec![grant]))
}

/// Acquires one permit as one of the client's calls.
async fn enter_pool(
    client: &Client,
    (path, permits): (&NodePath, &Permits),
    (patience, witness): (&(impl Fn() -> Patience + Sync), &Witness),
) -> Result<Option<Grants>, LockError> {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    let pool = cohorts.pool(client.worker(), path, &permits.count);
    match patience().contention {
        Contention::Wait => one(pool.enter(Side::Exclusive, (patience, witness)).await),
        Contention::Leave if pool.waiting() > 0 => Ok(None),
        // The permits that the client holds do not tell whether the servers have another one.
        Contention::Leave => {
            pool.clear_the_way(patience()).await;
            let wanted = Wanted::Permits(permits.clone());
            sole::enter(client.worker(), path, &wanted, (patience, witness)).await
        }
    }
}

/// Returns the number of this client's calls that wait in line for what is at this path.
pub(crate) fn waiting(client: &Client, path: &NodePath, wanted: &Wanted) -> usize {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    match wanted {
        Wanted::Place(_) | Wanted::NextPlace(_) => waiting_in(&cohorts.lines.at(path)),
        Wanted::Permits(_) => waiting_in(&cohorts.pools.at(path)),
        Wanted::Office { .. } => 0,
    }
}

/// Returns the contender that calls at this path wait for, as far as the client's other calls know it.
pub(crate) fn holder(client: &Client, path: &NodePath) -> Option<Holder> {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    let of_line = cohorts.lines.at(path).iter().find_map(|line| line.holder());
    of_line.or_else(|| cohorts.pools.at(path).iter().find_map(|pool| pool.holder()))
}

fn waiting_in<R: Local>(cohorts: &[Arc<Cohort<R>>]) -> usize {
    cohorts.iter().map(|cohort| cohort.waiting()).sum()
}

impl Cohorts {
    fn pool(&self, worker: &Arc<Worker>, path: &NodePath, count: &Count) -> Arc<Cohort<CallerPool>> {
        let pool = || supply::pool(worker.settings().queueing, count);
        self.pools.get(path, count.clone(), |entry| Cohort::new(worker, pool(), entry))
    }

    fn line(
        &self,
        worker: &Arc<Worker>,
        path: &NodePath,
        claimed: &Place,
    ) -> (Arc<Cohort<CallerLine>>, Side) {
        let (recipe, side) = match claimed.role {
            Role::Read => (Recipe::ReadWrite, Side::Shared),
            Role::Write => (Recipe::ReadWrite, Side::Exclusive),
            Role::Exclusive | Role::Permit | Role::Latch => (Recipe::Mutex, Side::Exclusive),
        };
        let key = Key::new(recipe, &claimed.also_behind);
        let line = || Line::new(worker.settings().queueing);
        (self.lines.get(path, key, |entry| Cohort::new(worker, line(), entry)), side)
    }
}
