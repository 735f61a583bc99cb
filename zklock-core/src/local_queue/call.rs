//! A call that waits in line.

use std::mem;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::deadline::{Contention, Deadline};
use crate::error::LockError;
use crate::events::Witness;

use super::held::Mode;
use super::queue::{Caller, Grants, LocalQueue, answer};
use super::state::{Call, CallId};

impl LocalQueue {
    /// Waits in line for the lock.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` has its arguments twice")]
    pub(super) fn enter(
        self: Arc<Self>,
        mode: Mode,
        deadline: Deadline,
        witness: &Witness,
    ) -> impl Future<Output = Result<Option<Grants>, LockError>> + Send {
        async move {
            // A call that does not wait is not reported as waiting.
            let is_told = witness.is_heard() && deadline.contention == Contention::Wait;
            let mut id = None;
            loop {
                let (reply, answer) = oneshot::channel();
                let caller = Caller { reply, witness: is_told.then(|| witness.clone()) };
                let waiting = Waiting { queue: &self, id: self.arrive((id, mode, deadline), caller) };
                let answer = answer.await;
                id = Some(waiting.id);
                mem::forget(waiting);
                let Ok(answer) = answer else { return Err(self.worker.closed(&self.path)) };
                let Some(grants) = answer.map_err(|error| *error)? else { return Ok(None) };
                grants.first().map_or(Ok(()), |grant| grant.share().lease().check_process())?;
                match grants.iter().find_map(|grant| grant.share().lease().check().err()) {
                    None => {
                        // The thread that has sent the grants may not have told so yet. An end comes before
                        // the beginning of the next hold.
                        grants.iter().for_each(|grant| grant.share().report_arrival());
                        return Ok(Some(grants));
                    }
                    // It was lost before the caller could see it, such as during a pause of the process. The
                    // call goes back to its place in line.
                    Some(lost) if deadline.left().is_zero() => return Err(lost),
                    Some(_) => {}
                }
            }
        }
    }

    /// Puts a call into the line, at its former place if it had one. Returns its place.
    fn arrive(
        self: &Arc<Self>,
        (before, mode, deadline): (Option<CallId>, Mode, Deadline),
        caller: Caller,
    ) -> CallId {
        let (mut id, mut contended) = (CallId(0), Vec::new());
        let closing = &self.worker.closing;
        self.change(|state, now| {
            id = before.unwrap_or_else(|| state.id());
            let call = Call { id, mode, deadline, caller };
            // Looked at under the mutex: the task refuses the calls that are in line when it sees that the client closes.
            let arrived = if closing.is_cancelled() { Err(call) } else { state.arrive(call, now) };
            arrived.unwrap_or_else(|call| {
                contended.push(call);
                Vec::new()
            })
        });
        // A call without an answer fails, because the client closes.
        if !closing.is_cancelled() {
            answer(contended, |_| Ok(None));
        }
        self.tell_queued();
        id
    }

    /// Tells the listeners of each call that waits how many contenders are in front of it, once that is known.
    pub(super) fn tell_queued(&self) {
        if !self.worker.is_heard() {
            return;
        }
        let mut told = Vec::new();
        for (ahead, caller) in self.state.lock().newly_queued() {
            told.extend(caller.witness.clone().map(|witness| (ahead, witness)));
        }
        told.into_iter().for_each(|(ahead, witness)| witness.queued(ahead));
    }
}

/// A call that waits in line, which leaves it when its future is dropped.
struct Waiting<'a> {
    queue: &'a Arc<LocalQueue>,
    id: CallId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // A forked child takes no lock that another thread may have had.
        if !self.queue.worker.tasks.is_forked() {
            self.queue.change(|state, now| state.gone(self.id, now));
        }
    }
}
