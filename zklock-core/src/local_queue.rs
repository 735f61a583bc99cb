//! The calls of one client at a lock take turns under one node.
//!
//! 1. Each call of the client stands in a line in memory. The client has one local queue for each lock, and for each number
//!    of permits of a semaphore.
//! 2. While calls wait and nothing that is held is of use to the first one, a task on the client's thread contends for it.
//! 3. A contender that comes to the head of its queue is a *held node*. It goes to the first call in line, and so do the
//!    readers behind it if that one reads.
//! 4. A call that gives the lock back passes it on to the next one in its own thread, without a request, if the lease is
//!    confirmed, no guarded write may still be applied, nobody has asked for the lock, and the turn is not over.
//! 5. A turn has a bounded number of grants and a bounded time, which count while other clients wait
//!    ([`Queueing`](crate::Queueing)). After it, the node is deleted, and a contender enters at the tail.
//! 6. A writer's node serves readers too. At the end of the turn, they let other clients' readers in by a downgrade. A
//!    reader's node never serves a writer.
//! 7. A node that nobody uses is deleted, once the task has looked twice and no call has come for it.
//! 8. A call that does not wait is turned away while a call of this client is in its way. Otherwise a contender asks the
//!    servers for it, and leaves if others are in front.
//! 9. If a node is lost, its holders are told. The calls in line stay there, and the next contender is for them.
//! 10. If the servers refuse a contender, all calls in line fail with its error.
//!
//! The idea is that of lock cohorting (D. Dice, V. Marathe, N. Shavit, *Lock Cohorting*, ACM TOPC 1(2), 2015).
//!
//! * [`state`], [`held`]: the line, what it holds, and all decisions, as a pure state machine.
//! * [`queue`]: the state with the callers, the leases and the grants that belong to it.
//! * [`call`]: a call that waits in line.
//! * [`task`]: contends, leaves, and watches deadlines.
//!
//! Elections have no local queue. Uses the layers below: `contend`, `deadline`, `client`, `lease`, `session`, `queue`,
//! `events`, `path`, `token` and `error`.
//!
//! # Invariants
//!
//! 1. No wake-up, send, event or user code runs under the mutex of a local queue.
//! 2. No local queue is locked, or dropped, under the mutex of [`LocalQueues`].
//! 3. A call that waits is the sender of a channel. A grant whose receiver is gone goes to the next call.
//! 4. At most one task and one contender of a local queue are under way.

mod call;
mod held;
mod queue;
#[cfg(test)]
mod sim;
mod state;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::client::Client;
use crate::client::worker::Worker;
use crate::contend::Wanted;
use crate::deadline::Deadline;
use crate::error::{Holder, LockError};
use crate::events::Witness;
use crate::path::NodePath;
use crate::queue::predicate::Role;

use self::held::Mode;
use self::queue::LocalQueue;

pub(crate) use self::queue::{Grant, Grants, LocalQueues};

/// Acquires the lock, or permits, as one of the client's calls. Returns `None` if others have it and the caller does not want
/// to wait. The caller announces the holds. `witness` tells the listeners how many contenders are in
/// front.
///
/// Dropping the future leaves the line, which withdraws its contender if no other call needs it.
pub(crate) fn enter(
    client: &Client,
    (path, wanted): (&NodePath, &Wanted),
    deadline: Deadline,
    witness: &Witness,
) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send {
    let queues: &LocalQueues = client.local_queues().get_or_default();
    let (queue, mode) = queues.of(client.worker(), path, wanted);
    queue.enter(mode, deadline, witness)
}

/// Returns the number of this client's calls that wait in line for what is at this path.
pub(crate) fn waiting(client: &Client, path: &NodePath) -> usize {
    let queues: &LocalQueues = client.local_queues().get_or_default();
    queues.at(path).iter().map(|queue| queue.state.lock().waiting.len()).sum()
}

/// Returns the contender that calls at this path wait for, as far as the client's other calls know it.
pub(crate) fn holder(client: &Client, path: &NodePath) -> Option<Holder> {
    let queues: &LocalQueues = client.local_queues().get_or_default();
    queues.at(path).iter().find_map(|queue| queue.holder())
}

impl LocalQueues {
    /// Returns the local queue of the calls that can share a node with this one, and the mode of this one.
    fn of(&self, worker: &Arc<Worker>, path: &NodePath, wanted: &Wanted) -> (Arc<LocalQueue>, Mode) {
        let mut key = wanted.clone();
        let mode = match &mut key {
            Wanted::Place(place) if place.role == Role::Read => {
                place.role = Role::Write;
                Mode::Shared
            }
            _ => Mode::Exclusive,
        };
        (self.get(worker, path, key), mode)
    }
}
