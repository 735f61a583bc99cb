//! A call that waits in line.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::deadline::{Contention, Deadline};
use crate::error::LockError;
use crate::events::Witness;

use super::grant::Grants;
use super::held::Mode;
use super::queue::{Answer, Caller, LocalQueue};
use super::state::{Call, CallId, Rejected};

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
            let mut before = None;
            loop {
                let (reply, answer) = oneshot::channel();
                // Nobody is told that a call waits which does not.
                let is_told = witness.is_heard() && deadline.contention == Contention::Wait;
                let untold = is_told.then(|| witness.clone());
                let waiting = match self.arrive((mode, deadline), before, (reply, untold)) {
                    Ok((id, since)) => Waiting { queue: &self, id, since },
                    Err(Rejected::Contended) => return Ok(None),
                    Err(Rejected::Closed) => return Err(self.closed()),
                };
                let answer = answer.await;
                before = Some((waiting.id, waiting.since));
                mem::forget(waiting);
                match answer {
                    Ok(Answer::Granted(grants)) => {
                        if let Some(grant) = grants.first() {
                            grant.lease().check_process()?;
                        }
                        match grants.iter().find_map(|grant| grant.lease().check().err()) {
                            None => {
                                // The thread that has sent the grants may not have told so yet. An end comes before
                                // the beginning of the next hold.
                                grants.iter().for_each(|grant| grant.share().report_handoff());
                                return Ok(Some(grants));
                            }
                            // It was lost before the caller could see it, such as during a pause of the process. The
                            // call goes back to its place in line.
                            Some(lost) if deadline.left().is_zero() => return Err(lost),
                            Some(_) => {}
                        }
                    }
                    Ok(Answer::Contended) => return Ok(None),
                    Ok(Answer::Failed(error)) => return Err(*error),
                    Err(_) => return Err(self.closed()),
                }
            }
        }
    }

    /// Puts a call into the line, at its former place if it had one. Returns its place, and the beginning of its wait.
    fn arrive(
        self: &Arc<Self>,
        (mode, deadline): (Mode, Deadline),
        before: Option<(CallId, Instant)>,
        (reply, untold): (oneshot::Sender<Answer>, Option<Witness>),
    ) -> Result<(CallId, Instant), Rejected> {
        if self.worker.closing.is_cancelled() {
            return Err(Rejected::Closed);
        }
        let (mut arrived, mut told) = (Err(Rejected::Closed), None);
        self.change(|state, now| {
            let (id, since) = before.unwrap_or_else(|| (state.id(), now));
            let (contention, until) = (deadline.contention, now.checked_add(deadline.left()));
            let caller = Caller { reply, wait: deadline.wait, since, untold };
            let granted = state.arrive(Call { id, mode, contention, deadline: until, caller }, now);
            told = state.queued_as(id).and_then(|(ahead, caller)| Some((ahead, caller.untold.take()?)));
            arrived = granted.as_ref().map(|_| (id, since)).map_err(|rejected| *rejected);
            granted.unwrap_or_default()
        });
        if let Some((ahead, witness)) = told {
            witness.queued(ahead);
        }
        arrived
    }

    /// Tells the listeners of each call that waits how many contenders are in front of it, unless they were told.
    pub(super) fn tell_queued(&self) {
        if !self.worker.is_heard() {
            return;
        }
        let mut told = Vec::new();
        for (ahead, caller) in self.state.lock().queued() {
            told.extend(caller.untold.take().map(|witness| (ahead, witness)));
        }
        told.into_iter().for_each(|(ahead, witness)| witness.queued(ahead));
    }
}

/// A call that waits in line, which leaves it when its future is dropped.
struct Waiting<'a> {
    queue: &'a Arc<LocalQueue>,
    id: CallId,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.queue.change(|state, now| state.gone(self.id, now));
    }
}
