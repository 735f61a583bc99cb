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
//! * [`mod@line`]: the local queue and the rules of passing, as a pure state machine.
//! * [`call`], [`waiters`], [`tenancy`]: one call, the calls that wait, and the bounds of one node or set of permits. The
//!   line is made of these.
//! * [`key`]: the lock or the permits that the calls of one line want.
//! * [`calls`]: one line, with the leases and the callers that belong to it.
//! * [`desk`]: the state that only the task of a line needs.
//! * [`waiting`](mod@waiting): a call that waits.
//! * [`turn`]: the task of one line, on the client's thread.
//! * [`attendance`]: the end of a task, and of the calls that it attends to.
//! * [`grant`]: one holder's part of a lock.
//! * [`registry`]: the cohorts of one client.
//!
//! While other clients wait, a client keeps its turn for a bounded number of grants and a bounded time
//! ([`Queueing`](crate::Queueing)).
//!
//! The calls for one number of permits of a semaphore share the client's permits in the same way. Elections have no cohort.
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
mod call;
mod calls;
mod desk;
mod grant;
mod key;
mod line;
mod registry;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod screen;
#[cfg(test)]
mod stub;
mod tenancy;
#[cfg(test)]
mod trail;
mod turn;
mod waiters;
mod waiting;

use std::sync::Arc;

use crate::acquire::{Patience, Wanted};
use crate::client::Client;
use crate::client::worker::Worker;
use crate::error::{Holder, LockError};
use crate::events::Witness;
use crate::path::NodePath;
use crate::queue::claim::Role;

use self::attendance::Attendance;
use self::call::Side;
use self::calls::Cohort;
use self::key::{Key, Recipe};
use self::registry::Registry;

pub(crate) use self::grant::{Grant, Grants, Release};

/// The cohorts of one client.
#[derive(Default)]
pub(crate) struct Cohorts {
    lines: Registry<Cohort>,
}

/// Acquires the lock, or permits, as one of the client's calls. Returns `None` if others have it and the caller does not want
/// to wait. The caller announces the holds. `witness` tells the listeners how many contenders are in
/// front.
///
/// Dropping the future leaves the line, which withdraws its contender if no other call needs it.
pub(crate) fn enter<'a, P: Fn() -> Patience + Sync>(
    client: &'a Client,
    (path, wanted): (&'a NodePath, &'a Wanted),
    waited: (&'a P, &'a Witness),
) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send + use<'a, P> {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    let (cohort, side) = cohorts.of(client.worker(), path, wanted);
    cohort.enter(side, waited)
}

/// Returns the number of this client's calls that wait in line for what is at this path.
pub(crate) fn waiting(client: &Client, path: &NodePath, wanted: &Wanted) -> usize {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    let is_lock = matches!(wanted, Wanted::Place(_) | Wanted::NextPlace(_));
    let is_wanted = |cohort: &Arc<Cohort>| match cohort.key() {
        Key::Lock { .. } => is_lock,
        Key::Permits(_) => matches!(wanted, Wanted::Permits(_)),
    };
    cohorts.lines.at(path).iter().filter(|cohort| is_wanted(cohort)).map(|cohort| cohort.waiting()).sum()
}

/// Returns the contender that calls at this path wait for, as far as the client's other calls know it.
pub(crate) fn holder(client: &Client, path: &NodePath) -> Option<Holder> {
    let cohorts: &Cohorts = client.cohorts().get_or_default();
    cohorts.lines.at(path).iter().find_map(|line| line.holder())
}

impl Cohorts {
    /// Returns the calls that want the same, and the side of another one.
    fn of(&self, worker: &Arc<Worker>, path: &NodePath, wanted: &Wanted) -> (Arc<Cohort>, Side) {
        let (key, side) = match wanted {
            Wanted::Place(place) | Wanted::NextPlace(place) | Wanted::Office { place, .. } => {
                let (recipe, side) = match place.role {
                    Role::Read => (Recipe::ReadWrite, Side::Shared),
                    Role::Write => (Recipe::ReadWrite, Side::Exclusive),
                    Role::Exclusive | Role::Permit | Role::Latch => (Recipe::Mutex, Side::Exclusive),
                };
                (Key::lock(recipe, &place.also_behind), side)
            }
            Wanted::Permits(permits) => (Key::Permits(Box::new(permits.clone())), Side::Exclusive),
        };
        (self.lines.get(path, key, |entry| Cohort::new(worker, entry, Attendance::attend)), side)
    }
}
